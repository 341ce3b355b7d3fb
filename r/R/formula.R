# Formulas with random terms, (x | g), (x || g) and (x | g/h), taken apart.

is_bar <- function(part) is.call(part) && (part[[1]] == "|" || part[[1]] == "||")

# The random terms of a formula's right side, as written.
find_bars <- function(part) {
  if (!is.call(part)) return(list())
  if (is_bar(part)) return(list(part))
  unlist(lapply(as.list(part)[-1], find_bars), recursive = FALSE)
}

# A right side without its random terms; NULL if nothing remains.
drop_bars <- function(part) {
  if (!is.call(part)) return(part)
  if (is_bar(part)) return(NULL)
  if (part[[1]] == "(") {
    inner <- drop_bars(part[[2]])
    return(if (is.null(inner)) NULL else part)
  }
  if (!(part[[1]] == "+" || part[[1]] == "-") || !length(find_bars(part))) {
    if (length(find_bars(part))) stop("a random term can only be added to the others", call. = FALSE)
    return(part)
  }
  kept <- Filter(Negate(is.null), lapply(as.list(part)[-1], drop_bars))
  if (!length(kept)) NULL else if (length(kept) == 1) kept[[1]] else as.call(c(part[[1]], kept))
}

# A right side with + in place of the bars, from which model.frame() takes the variables.
replace_bars <- function(part) {
  if (!is.call(part)) return(part)
  parts <- lapply(as.list(part)[-1], replace_bars)
  if (is_bar(part)) as.call(c(quote(`+`), parts)) else as.call(c(part[[1]], parts))
}

# Grouping variables as expressions: a/b is a and b:a, as lme4 names them.
groups_of <- function(part) {
  if (is.call(part) && part[[1]] == "(") return(groups_of(part[[2]]))
  if (is.call(part) && part[[1]] == "/") {
    outer <- groups_of(part[[2]])
    return(c(outer, call(":", part[[3]], outer[[length(outer)]])))
  }
  list(part)
}

# The variables of a grouping expression, such as a and b of a:b.
group_parts <- function(part) {
  if (!is.call(part) || part[[1]] != ":" && part[[1]] != "(") return(deparse1(part))
  unlist(lapply(as.list(part)[-1], group_parts))
}

# The random terms: the formula of their columns, their group's name and its variables; || is split up.
random_terms <- function(right, env) {
  terms <- list()
  for (bar in find_bars(right)) {
    left <- list(bar[[2]])
    if (bar[[1]] == "||") {
      of <- terms(stats::as.formula(call("~", bar[[2]]), env))
      left <- lapply(attr(of, "term.labels"), function(label) call("+", 0, str2lang(label)))
      if (attr(of, "intercept")) left <- c(list(1), left)
    }
    for (group in groups_of(bar[[3]])) {
      terms <- c(terms, lapply(left, function(one) {
        list(formula = stats::as.formula(call("~", one), env), name = deparse1(group),
             group = group_parts(group))
      }))
    }
  }
  terms
}
