surprisal <- function(text, lm, ...) {
  if (is.data.frame(text)) {
    absent <- setdiff(c("item", "word"), names(text))
    if (length(absent)) stop("the data frame has no column '", absent[1], "'", call. = FALSE)
    items <- unique(text$item)
    rows <- split(seq_len(nrow(text)), match(text$item, items))
    words <- as.character(text$word)
    lines <- vapply(rows, function(of) paste(words[of], collapse = " "), "")
  } else if (is.character(text) && length(text)) {
    items <- if (is.null(names(text))) seq_along(text) else names(text)
    lines <- gsub("[\r\n]+", " ", text)
  } else {
    stop("text must be character or a data frame with item and word", call. = FALSE)
  }
  files <- tempfile(c("text", "words"), fileext = c(".txt", ".csv"))
  on.exit(unlink(files))
  writeLines(enc2utf8(lines), files[1], useBytes = TRUE)
  settings <- list(...)
  names(settings)[names(settings) == "measures"] <- "measure"
  arguments <- c("surprisal", "-", "--lines", "--model", lm, "--out", files[2])
  run_command("recency", c(arguments, command_options(settings)), files[1])
  scored <- read_table(files[2], "word")
  if (!is.data.frame(text)) {
    scored$item <- items[scored$item]
    return(scored)
  }
  rows <- unlist(rows, use.names = FALSE)
  same <- seq_along(rows) <= nrow(scored) & words[rows] == scored$word[seq_along(rows)]
  if (nrow(scored) != length(rows) || !isTRUE(all(same))) {
    row <- rows[which(!(same %in% TRUE))[1]]
    stop("row ", row, ": '", words[row], "' is not one word, without white space", call. = FALSE)
  }
  added <- setdiff(names(scored), c("item", "position", "word"))
  text[rows, added] <- scored[added]
  text
}

corpus <- function(name, measure = NULL, filtered = TRUE, mirror = Sys.getenv("RECENCY_MIRROR")) {
  folder <- tempfile()
  on.exit(unlink(folder, recursive = TRUE))
  mirrors <- strsplit(mirror, .Platform$path.sep, fixed = TRUE)[[1]]
  arguments <- c("load", name, "--csv", "--out", folder, if (!filtered) "--all")
  arguments <- c(arguments, if (length(mirrors)) rbind("--mirror", mirrors))
  if (identical(measure, "words")) {
    run_command("readingtimes", c(arguments, "--words"))
    return(read_table(file.path(folder, paste0(name, ".words.csv")), "word"))
  }
  run_command("readingtimes", c(arguments, if (length(measure)) rbind("--measure", measure)))
  files <- list.files(folder, full.names = TRUE)
  files <- setdiff(files, file.path(folder, paste0(name, ".words.csv")))
  measures <- substring(sub("\\.csv$", "", basename(files)), nchar(name) + 2)
  tables <- Map(function(file, of) cbind(measure = of, read_table(file, "word")), files, measures)
  columns <- unique(unlist(lapply(tables, names)))
  tables <- lapply(tables, function(table) {
    table[setdiff(columns, names(table))] <- NA
    table[columns]
  })
  do.call(rbind, unname(tables))
}
