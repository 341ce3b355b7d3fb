# The command line of the Python package, which computes everything.

# Path of a command: next to the option `recency.command`, if it is set, else on the PATH.
command_path <- function(name) {
  path <- getOption("recency.command", "")
  path <- if (nzchar(path)) file.path(dirname(path), name) else Sys.which(name)
  if (!nzchar(path) || !file.exists(path)) {
    stop("the command '", name, "' was not found: install Python's package (pip install 'recency[lm]', or make ",
         "setup in a checkout) and put it on the PATH, or set options(recency.command = \"<path of recency>\")",
         call. = FALSE)
  }
  path
}

# Run a command; its errors are R's, its notes are messages. `rename` changes their text.
run_command <- function(name, arguments, input = "", rename = identity) {
  files <- tempfile(c("out", "err"))
  on.exit(unlink(files))
  status <- system2(command_path(name), shQuote(arguments), files[1], files[2], stdin = input,
                    env = library_path())
  lines <- rename(readLines(files[2], warn = FALSE, encoding = "UTF-8"))
  if (status != 0) {
    stop(if (length(lines)) sub("^recency( \\S+)?: ", "", lines[length(lines)]) else
      paste(name, "ended with status", status), call. = FALSE)
  }
  if (length(lines)) message(paste(lines, collapse = "\n"))
  invisible()
}

# R puts system libraries first, where Python could find those of another Python.
library_path <- function() {
  if (.Platform$OS.type != "unix") return(character())
  paths <- strsplit(Sys.getenv("LD_LIBRARY_PATH"), ":", fixed = TRUE)[[1]]
  of_r <- paths == R.home("lib") | grepl("^/(usr/)?lib(64)?(/[^/]+-linux-gnu)?$", paths)
  paste0("LD_LIBRARY_PATH=", shQuote(paste(paths[!of_r], collapse = ":")))
}

# Options of the command line for named settings: measures = c("a", "b") is --measures a,b.
command_options <- function(settings) {
  options <- list()
  for (name in names(settings)) {
    value <- settings[[name]]
    option <- paste0("--", gsub("_", "-", name))
    if (is.logical(value)) {
      options <- c(options, if (value) option else sub("--", "--no-", option))
    } else if (!is.null(value)) {
      options <- c(options, option, paste(value, collapse = ","))
    }
  }
  unlist(options)
}

# Read a table of the command; words such as "NA" and "TRUE" remain text.
read_table <- function(file, text = character()) {
  header <- names(read.csv(file, nrows = 1, check.names = FALSE))
  classes <- stats::setNames(rep(NA_character_, length(header)), header)
  classes[intersect(text, header)] <- "character"
  table <- read.csv(file, check.names = FALSE, na.strings = "", colClasses = classes, encoding = "UTF-8")
  logical <- vapply(table, function(of) is.character(of) && all(of %in% c("True", "False", NA)), TRUE)
  logical <- setdiff(names(table)[logical], text)
  table[logical] <- lapply(table[logical], as.logical)
  table
}
