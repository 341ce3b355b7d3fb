# Surprisal and corpora, where the command is present; a corpus is read from RECENCY_MIRROR.
library(recency)
if (!nzchar(Sys.which("recency"))) {
  message("skipped: needs the command recency")
  quit("no")
}

table <- suppressMessages(surprisal(c(first = "the cat sat", second = "TRUE NA\n T"), "small-english"))
stopifnot(identical(table$item, rep(c("first", "second"), each = 3)),
          identical(table$word, c("the", "cat", "sat", "TRUE", "NA", "T")),
          is.numeric(table$surprisal_bits), all(table$surprisal_bits > 0))

# A data frame keeps its rows, columns and order, with items in turn.
words <- data.frame(item = c("b", "a", "b"), word = factor(c("the", "na\u00efve", "cat")), rt = c(300, 400, 350))
scored <- suppressMessages(surprisal(words, "small-english", bos = TRUE, measures = c("entropy", "rank")))
stopifnot(identical(scored[names(words)], words), all(c("entropy_bits", "rank") %in% names(scored)),
          isTRUE(all.equal(scored$surprisal_bits[c(1, 3)], table$surprisal_bits[1:2], tolerance = 1e-5)))

message_of <- function(expression) tryCatch(suppressMessages(expression), error = conditionMessage)
stopifnot(
  identical(message_of(surprisal(data.frame(item = 1, word = c("New York", "is")), "small-english")),
            "row 1: 'New York' is not one word, without white space"),
  grepl("did you mean 'entropy'", message_of(surprisal("a", "small-english", measures = "entropi"))),
  grepl("did you mean 'provo'", message_of(corpus("prvo")))
)

if (nzchar(Sys.getenv("RECENCY_MIRROR"))) {
  times <- corpus("provo", "FP")
  stopifnot(all(c("measure", "subject", "word_id", "word", "time_ms") %in% names(times)),
            all(times$measure == "FP"), length(unique(times$subject)) == 84, all(times$time_ms > 0))
  text <- corpus("provo", "words")
  stopifnot(nrow(text) > 2500, length(unique(text$item)) == 55, is.character(text$word))
  both <- merge(times, text, by = "word_id")
  stopifnot(nrow(both) == nrow(times), all(both$word.x == both$word.y))
}
