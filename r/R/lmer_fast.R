lmer_fast <- function(formula, data, REML = TRUE, weights, subset, na.action, offset, contrasts = NULL,
                      ddf = c("none", "Satterthwaite", "Kenward-Roger")) {
  call <- match.call()
  ddf <- match.arg(ddf)
  if (!inherits(formula, "formula") || length(formula) != 3) {
    stop("formula must have a response, as y ~ x + (1 | g)", call. = FALSE)
  }
  env <- environment(formula)
  random <- random_terms(formula[[3]], env)
  if (!length(random)) stop("the formula has no random term such as (1 | g)", call. = FALSE)

  full <- fixed <- formula
  full[[3]] <- replace_bars(formula[[3]])
  right <- drop_bars(formula[[3]])
  fixed[[3]] <- if (is.null(right)) 1 else right
  frame_call <- call[c(1L, match(c("data", "subset", "weights", "na.action", "offset"), names(call), 0L))]
  frame_call[[1L]] <- quote(stats::model.frame)
  frame_call$formula <- full
  frame_call$drop.unused.levels <- TRUE
  frame <- eval(frame_call, parent.frame())
  if (!nrow(frame)) stop("no row has a value in every column of the formula", call. = FALSE)

  y <- model.response(frame)
  if (!is.numeric(y) || !is.null(dim(y))) stop("the response must be a numeric vector", call. = FALSE)
  X <- model.matrix(fixed, frame, contrasts)
  random <- lapply(random, function(term) add_columns(term, frame))
  random <- random[order(-vapply(random, function(term) nlevels(term$factor), 0L))]
  for (t in seq_along(random)) random[[t]]$number <- t
  found <- fit_tables(y, X, random, frame, deparse1(formula[[2]]), REML, ddf)

  labels <- colnames(X)
  fit <- list(
    call = call, formula = formula, frame = frame, fixed_terms = fixed_terms(fixed, frame),
    contrasts = attr(X, "contrasts"), random = random, REML = REML, ddf = ddf,
    xlevels = stats::.getXlevels(terms(frame), frame), na.action = attr(frame, "na.action")
  )
  fit <- c(fit, found$fit[c("nobs", "npar", "loglik", "sigma", "converged", "singular", "note")])
  terms <- rename_columns(found$fixed$term, labels, random)
  fit$coefficients <- data.frame(found$fixed[-1], row.names = terms, check.names = FALSE)
  fit$covariance <- as.matrix(found$covariance[-1])
  dimnames(fit$covariance) <- list(terms, terms)
  fit$varcov <- lapply(random, term_covariance, found)
  names(fit$varcov) <- make.unique(names_of(random))
  by_group <- split(random, factor(names_of(random), unique(names_of(random))))
  fit$modes <- lapply(by_group, group_modes, found)
  class(fit) <- "lmer_fast"
  fit$fitted <- predict(fit)
  if (!fit$converged) warning("the fit has not converged: ", fit$note, call. = FALSE)
  else if (nzchar(fit$note)) message(fit$note)
  fit
}

names_of <- function(random) vapply(random, `[[`, "", "name")

# Add a random term's columns, group and names to it.
add_columns <- function(term, frame) {
  term$Z <- model.matrix(term$formula, frame)
  term$factor <- group_factor(term$group, frame)
  if (nlevels(term$factor) < 2) stop("group ", term$name, " has one level", call. = FALSE)
  term
}

group_factor <- function(names, frame) {
  factors <- lapply(names, function(name) as.factor(frame[[name]]))
  if (length(factors) == 1) return(factors[[1]])
  interaction(factors, sep = ":", drop = TRUE, lex.order = TRUE)
}

# Hand the columns to the command, by plain names, and read the tables of the fit.
fit_tables <- function(y, X, random, frame, response, REML, ddf) {
  folder <- tempfile()
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  groups <- unique(names_of(random))
  columns <- list(response = as.numeric(y))
  fixed <- column_names("fixed", X)
  columns[setdiff(fixed, "1")] <- asplit(X[, fixed != "1", drop = FALSE], 2)
  right <- paste(c("0"[!"1" %in% fixed], fixed), collapse = " + ")
  for (t in seq_along(random)) {
    term <- random[[t]]
    names <- column_names(paste0("random_", t), term$Z)
    columns[setdiff(names, "1")] <- asplit(term$Z[, names != "1", drop = FALSE], 2)
    group <- paste0("group_", match(term$name, groups))
    columns[[group]] <- paste0("L", as.integer(term$factor))
    left <- paste(c("0"[!"1" %in% names], names), collapse = " + ")
    right <- paste0(right, " + (", left, " | ", group, ")")
  }
  columns$weights <- model.weights(frame)
  columns$offset <- model.offset(frame)
  rename <- function(lines) {
    lines <- gsub(file.path(folder, "data.csv"), "the data", lines, fixed = TRUE)
    for (g in seq_along(groups)) lines <- gsub(paste0("\\bgroup_", g, "\\b"), groups[g], lines)
    gsub("\\bresponse\\b", response, rename_columns(lines, colnames(X), random, exact = FALSE))
  }
  for (name in names(columns)) check_finite(columns[[name]], rename(name), row.names(frame))
  write_table(columns, file.path(folder, "data.csv"))
  arguments <- c("lmer", file.path(folder, "data.csv"), paste("response ~", right),
                 "--engine", "search", "--tables", folder, if (REML) "--reml",
                 if (ddf != "none") c("--ddf", ddf), if (!is.null(columns$weights)) c("--weights", "weights"),
                 if (!is.null(columns$offset)) c("--offset", "offset"))
  run_command("recency", arguments, rename = rename)
  tables <- c("fit", "fixed", "random", "correlations", "modes", "covariance")
  tables <- sapply(tables, function(name) read_table(file.path(folder, paste0(name, ".csv"))), simplify = FALSE)
  note <- tables$fit$note
  tables$fit$note <- if (is.na(note)) "" else rename(note)
  tables$groups <- groups
  tables
}

# Names of a matrix's columns in the command's formula: the intercept is 1.
column_names <- function(prefix, matrix) {
  ifelse(colnames(matrix) == "(Intercept)", "1", paste0(prefix, "_", seq_len(ncol(matrix)), recycle0 = TRUE))
}

# R's names of columns in the command's output, for whole names or within text.
rename_columns <- function(text, labels, random, exact = TRUE) {
  by_name <- stats::setNames(labels, paste0("fixed_", seq_along(labels), recycle0 = TRUE))
  for (t in seq_along(random)) {
    of <- colnames(random[[t]]$Z)
    by_name <- c(by_name, stats::setNames(of, paste0("random_", t, "_", seq_along(of))))
  }
  if (exact) return(ifelse(text %in% names(by_name), by_name[text], text))
  for (name in names(by_name)) {
    at <- gregexpr(paste0("\\b", name, "\\b"), text)
    regmatches(text, at) <- lapply(regmatches(text, at), function(of) rep(by_name[[name]], length(of)))
  }
  text
}

check_finite <- function(values, name, rows) {
  if (is.numeric(values) && !all(is.finite(values))) {
    at <- which(!is.finite(values))[1]
    stop(name, " is ", values[at], " in row ", rows[at], "; leave such rows out", call. = FALSE)
  }
}

# Write columns with all digits.
write_table <- function(columns, file) {
  written <- lapply(columns, function(values) {
    if (is.numeric(values)) sprintf("%.17g", as.numeric(values)) else values
  })
  write.table(as.data.frame(written), file, sep = ",", quote = FALSE, row.names = FALSE)
}

# The terms of the fixed effects, with the coefficients of poly() and scale() of the fitted rows.
fixed_terms <- function(fixed, frame) {
  of <- delete.response(terms(fixed))
  all <- attr(terms(frame), "variables")
  at <- match(vapply(as.list(attr(of, "variables")), deparse1, ""), vapply(as.list(all), deparse1, ""))
  attr(of, "predvars") <- as.call(as.list(attr(terms(frame), "predvars"))[at])
  of
}

# Covariance of a random term's effects, with lme4's attributes.
term_covariance <- function(term, found) {
  at <- term_rows(term, found)
  labels <- colnames(term$Z)
  of <- found$random[found$random$group == at$group, ]
  sd <- stats::setNames(of$sd[match(at$terms, of$term)], labels)
  of <- found$correlations[found$correlations$group == at$group, ]
  pairs <- expand.grid(term = at$terms, other = at$terms, stringsAsFactors = FALSE)
  values <- of$correlation[match(paste(pairs$term, pairs$other), paste(of$term, of$other))]
  correlation <- matrix(values, length(sd), dimnames = list(labels, labels))
  covariance <- ifelse(is.na(correlation), 0, correlation) * outer(sd, sd)
  diag(covariance) <- sd^2
  structure(covariance, stddev = sd, correlation = correlation)
}

# A term's group and columns in the command's tables.
term_rows <- function(term, found) {
  names <- column_names(paste0("random_", term$number), term$Z)
  list(group = paste0("group_", match(term$name, found$groups)), terms = sub("^1$", "(Intercept)", names))
}

# Conditional modes of a grouping variable: a row per level, a column per effect of its terms.
group_modes <- function(terms, found) {
  columns <- list()
  levels <- levels(terms[[1]]$factor)
  for (term in terms) {
    at <- term_rows(term, found)
    of <- found$modes[found$modes$group == at$group, ]
    for (c in seq_along(at$terms)) {
      rows <- of[of$term == at$terms[c], ]
      columns[[colnames(term$Z)[c]]] <- rows$mode[match(paste0("L", seq_along(levels)), rows$level)]
    }
  }
  data.frame(columns, row.names = levels, check.names = FALSE)
}
