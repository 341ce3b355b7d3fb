# Figures and tables of an experiment, from the files of its folder. In this folder: Rscript figures.R
# Needs R alone. Writes figures_r.pdf (one page per figure), leads_r.csv, table_r.csv and table_r.tex.
#
# delta_loglik_intervals.csv has ΔLogLik in nats with 95 % intervals: kind `own`, an LM's own; `baseline`,
# its difference from the baseline LM; `pair`, from another LM. low_all and high_all are simultaneous for
# all pairs of LMs, and decide where they are given.

options(encoding = "UTF-8")
values <- read.csv("delta_loglik.csv", na.strings = "", check.names = FALSE)
rows <- read.csv("delta_loglik_intervals.csv", na.strings = "", check.names = FALSE)
rows$response <- ifelse(rows$dataset == "all", "Total", paste(rows$dataset, rows$measure))
rows$label <- values$label[match(rows$lm, values$lm)]
is_simultaneous <- !is.na(rows$low_all)
rows$decides_low <- ifelse(is_simultaneous, rows$low_all, rows$low)
rows$decides_high <- ifelse(is_simultaneous, rows$high_all, rows$high)

# Without a baseline LM, figures show each LM's own ΔLogLik.
leads <- rows[rows$kind == "baseline", ]
against <- values$label[match(leads$against[1], values$lm)]
if (nrow(leads) == 0) leads <- rows[rows$kind == "own", ]
over <- if (is.na(against)) "" else paste(" over", against)
axis_title <- bquote(Delta * "LogLik" * .(over) * " (nats)")

# Lines of a figure: the interval that decides; ticks on it end the single one, which is the shorter.
draw <- function(part, title) {
  part <- part[order(part$delta_loglik), ]
  at <- seq_len(nrow(part))
  ends <- c(0, part$delta_loglik, part$low, part$high, part$decides_low, part$decides_high)
  par(mar = c(4, 1 + 0.55 * max(nchar(part$label)), 2, 1))
  plot(part$delta_loglik, at, xlim = range(ends, finite = TRUE), ylim = c(0.5, nrow(part) + 0.5),
       pch = 19, yaxt = "n", ylab = "", xlab = axis_title, main = title)
  abline(v = 0, lty = 3)
  segments(part$decides_low, at, part$decides_high, at, lwd = 3)
  for (end in list(part$low, part$high)) segments(end, at - 0.15, end, at + 0.15)
  axis(2, at, part$label, las = 1, tick = FALSE)
}

# Names of LMs may have letters that pdf() lacks.
device <- if (capabilities("cairo")) cairo_pdf else pdf
device("figures_r.pdf", width = 7, height = 2 + 0.3 * length(unique(leads$lm)), onefile = TRUE)
for (response in unique(c("Total", leads$response))) {
  part <- leads[leads$response == response, ]
  if (nrow(part) > 0) draw(part, response)
}
invisible(dev.off())

shown <- c("lm", "label", "against", "response", "n", "delta_loglik", "low", "high", "decides_low", "decides_high")
write.csv(leads[shown], "leads_r.csv", row.names = FALSE, na = "", fileEncoding = "UTF-8")

# The table: a row per LM, a column per response; ΔLogLik with the interval of the lead over the baseline LM.
own <- rows[rows$kind == "own", ]
cell <- function(lm, response) {
  value <- own$delta_loglik[own$lm == lm & own$response == response]
  lead <- leads[leads$lm == lm & leads$response == response, ]
  interval <- if (nrow(lead) == 1 && !is.na(lead$decides_low)) {
    sprintf(" [%.1f, %.1f]", lead$decides_low, lead$decides_high)
  } else ""
  if (length(value) == 1) paste0(sprintf("%.1f", value), interval) else ""
}
lms <- unique(own$lm)
table <- data.frame(LM = own$label[match(lms, own$lm)], check.names = FALSE)
for (response in unique(own$response)) {
  table[[response]] <- vapply(lms, cell, "", response = response)
}
write.csv(table, "table_r.csv", row.names = FALSE, fileEncoding = "UTF-8")
escaped <- function(text) gsub("([%&_#$])", "\\\\\\1", text)
lines <- apply(rbind(names(table), as.matrix(table)), 1, function(row) paste(escaped(row), collapse = " & "))
columns <- paste0("l", strrep("r", ncol(table) - 1))
writeLines(c(sprintf("\\begin{tabular}{%s}", columns), "\\hline", paste(lines[1], "\\\\ \\hline"),
             paste(lines[-1], "\\\\"), "\\hline", "\\end{tabular}"), "table_r.tex", useBytes = TRUE)
print(table, row.names = FALSE, right = FALSE)
