# Fits of lmer_fast() against lme4's, where the command and lme4 are present.
library(recency)
if (!nzchar(Sys.which("recency")) || !requireNamespace("lme4", quietly = TRUE)) {
  message("skipped: needs the command recency and lme4")
  quit("no")
}

near <- function(a, b, tolerance = 1e-4) {
  stopifnot(length(a) == length(b), identical(unname(is.na(a)), unname(is.na(b))))
  stopifnot(all(abs(a - b) <= tolerance * (1 + abs(b)), na.rm = TRUE))
}

refused <- function(expression, pattern) {
  message <- tryCatch({ force(expression); "no error" }, error = conditionMessage)
  if (!grepl(pattern, message)) stop("'", message, "' lacks '", pattern, "'")
}

# Estimates, standard errors, likelihood, variances, modes and predictions of the two.
same <- function(formula, data, ..., new = NULL) {
  options <- as.list(substitute(list(...)))[-1] # weights and subset are expressions
  fine <- lme4::lmerControl(optCtrl = list(xtol_rel = 1e-10, xtol_abs = 1e-10, ftol_abs = 1e-12))
  call <- as.call(c(quote(lme4::lmer), formula, quote(data), control = quote(fine), options))
  theirs <- suppressMessages(suppressWarnings(eval(call)))
  call <- as.call(c(quote(lmer_fast), formula, quote(data), options))
  ours <- suppressMessages(eval(call))
  stopifnot(ours$converged, identical(names(fixef(ours)), names(lme4::fixef(theirs))))
  se <- sqrt(diag(as.matrix(vcov(theirs))))
  near((fixef(ours) - lme4::fixef(theirs)) / se, 0 * se)
  near(sqrt(diag(vcov(ours))) / se, 1 + 0 * se)
  near(c(logLik(ours)), c(logLik(theirs)), 1e-6)
  near(c(AIC(ours), BIC(ours), sigma(ours)), c(AIC(theirs), BIC(theirs), sigma(theirs)), 2e-5)
  stopifnot(identical(names(fitted(ours)), names(fitted(theirs))))
  near((fitted(ours) - fitted(theirs)) / sigma(theirs), 0 * fitted(theirs), 5e-3)
  near((residuals(ours) - residuals(theirs)) / sigma(theirs), 0 * fitted(theirs), 5e-3)
  variances <- as.data.frame(lme4::VarCorr(theirs))
  mine <- as.data.frame(VarCorr(ours))
  stopifnot(identical(mine[1:3], variances[1:3]))
  is_sd <- is.na(variances$var2)
  near(mine$sdcor[is_sd] / sigma(theirs), variances$sdcor[is_sd] / sigma(theirs), 2e-3)
  modes <- lme4::ranef(theirs, condVar = FALSE)
  stopifnot(setequal(names(modes), names(ranef(ours))))
  for (group in names(modes)) {
    stopifnot(identical(dimnames(ranef(ours)[[group]]), dimnames(modes[[group]])))
    near(unlist(ranef(ours)[[group]]) / sigma(theirs), unlist(modes[[group]]) / sigma(theirs), 5e-3)
    near(unlist(coef(ours)[[group]]) / sigma(theirs), unlist(coef(theirs)[[group]]) / sigma(theirs), 5e-3)
  }
  if (!is.null(new)) {
    near(predict(ours, new, re.form = NA), predict(theirs, new, re.form = NA))
    near(predict(ours, new), predict(theirs, new), 1e-3)
  }
  invisible(ours)
}

# sleepstudy
data("sleepstudy", package = "lme4")
fit <- same(Reaction ~ Days + (Days | Subject), sleepstudy, new = sleepstudy[c(3, 90), ])
near(fixef(fit), c(251.40510, 10.46729), 1e-6)
same(Reaction ~ poly(Days, 2) + scale(Days):Subject + (1 | Subject), sleepstudy, REML = FALSE)
same(log(Reaction) ~ poly(Days, 2) + (Days || Subject), sleepstudy, new = sleepstudy[c(3, 90), ])
sleepstudy$w <- 1 + seq_len(nrow(sleepstudy)) %% 3
same(Reaction ~ Days + offset(2 * Days) + (0 + Days | Subject) + (1 | Subject), sleepstudy, weights = w)

# A factorial design in crossed subjects and items, with missing values and three codings
set.seed(1)
n <- 24
factorial <- expand.grid(item = factor(1:12), subject = factor(paste0("s", seq_len(n))))
factorial$a <- factor(c("no", "yes"))[1 + (as.integer(factorial$item) + as.integer(factorial$subject)) %% 2]
factorial$b <- factor(c("low", "mid", "high"), c("low", "mid", "high"))[1 + as.integer(factorial$item) %% 3]
factorial$length <- round(rnorm(12, 6, 2))[factorial$item]
factorial$rt <- with(factorial, 300 + 20 * (a == "yes") - 15 * (b == "high") + 3 * length +
  rnorm(n, 0, 30)[subject] + rnorm(n, 0, 25)[subject] * (a == "yes") + rnorm(12, 0, 20)[item] +
  rnorm(nrow(factorial), 0, 40))
factorial$rt[c(5, 77)] <- NA
factorial$length[9] <- NA
model <- rt ~ a * b + log(length) + (1 + a | subject) + (1 | item)
same(model, factorial)
contrasts(factorial$a) <- contr.sum(2)
contrasts(factorial$b) <- contr.helmert(3)
fit <- same(model, factorial, REML = FALSE, new = factorial[c(20, 30, 44), ])
stopifnot(identical(names(fixef(fit)), c("(Intercept)", "a1", "b1", "b2", "log(length)", "a1:b1", "a1:b2")))
contrasts(factorial$b) <- matrix(c(-1, 0, 1, 1, -2, 1), 3, dimnames = list(NULL, c(".linear", ".curve")))
same(model, factorial, na.action = na.exclude)
same(model, factorial, contrasts = list(b = "contr.treatment"), subset = length > 3)
same(rt ~ a + (0 + a | subject) + (1 | item), factorial)
stopifnot(length(residuals(fit)) == nrow(factorial) - 2 - sum(is.na(factorial$length)))
refused(lmer_fast(model, factorial, na.action = na.fail), "missing values")

# Nested and crossed factors, and an effect that cannot be estimated
nested <- expand.grid(rep = 1:4, pupil = factor(1:6), class = factor(1:4), school = factor(letters[1:5]))
nested$x <- rnorm(nrow(nested))
nested$y <- with(nested, 2 * x + rnorm(5)[school] + rnorm(20)[interaction(class, school)] +
  rnorm(120, 0, .7)[interaction(pupil, class, school)] + rnorm(nrow(nested)))
same(y ~ x + (1 | school / class / pupil), nested)
same(y ~ x + (x | school:class) + (1 | pupil), nested)
nested$x2 <- 2 * nested$x
fit <- suppressMessages(lmer_fast(y ~ x + x2 + (1 | school:class), nested))
stopifnot(grepl("x2", fit$note), identical(names(fixef(fit)), c("(Intercept)", "x")))
near(fitted(fit), predict(fit, nested))

# Inference, and comparisons of models
small <- lmer_fast(y ~ 1 + (1 | school:class), nested, REML = FALSE)
large <- lmer_fast(y ~ x + (1 | school:class), nested, REML = FALSE)
of_lme4 <- anova(lme4::lmer(formula(small), nested, REML = FALSE), lme4::lmer(formula(large), nested, REML = FALSE))
near(anova(large, small)$Chisq[2], of_lme4$Chisq[2])
refused(anova(fit, lmer_fast(y ~ 1 + (1 | school:class), nested)), "REML")
tested <- lmer_fast(Reaction ~ Days + (Days | Subject), sleepstudy, ddf = "Kenward-Roger")
near(unlist(tested$coefficients["Days", c("df", "p")]), c(17, 3.2638e-6), 1e-6)
printed <- capture.output(print(tested))
stopifnot(any(grepl("Subject +Days +35\\.07 +5\\.922 +0\\.07", printed)))
stopifnot(any(grepl("^Days +10\\.467 +1\\.546 +17 +6\\.771 +3\\.26e-06", printed)))

# Tidiers, registered for generics where that is present
if (requireNamespace("generics", quietly = TRUE)) {
  table <- generics::tidy(tested, conf.int = TRUE)
  stopifnot(identical(table$term[c(1, 2, 5)], c("(Intercept)", "Days", "cor__(Intercept).Days")))
  near(unlist(table[2, c("conf.low", "conf.high")]), 10.467286 + c(-1, 1) * qt(.975, 17) * 1.5457887)
  near(unlist(generics::glance(tested)[c("nobs", "logLik", "AIC")]), c(180, -871.8141, 1755.628), 1e-6)
  stopifnot(nrow(generics::augment(tested)) == 180)
}

# Refusals
refused(lmer_fast(Reaction ~ Days, sleepstudy), "no random term")
refused(lmer_fast(Reaction ~ Days * (1 | Subject), sleepstudy), "can only be added")
refused(lmer_fast(Reaction ~ Days + (1 | Subject), sleepstudy, REML = FALSE, ddf = "Kenward-Roger"), "reml")
refused(lmer_fast(Reaction ~ log(Days) + (1 | Subject), sleepstudy), "^log\\(Days\\) is -Inf in row 1")
refused(predict(tested, data.frame(Days = 1, Subject = "new")), "the level 'new'")
options(recency.command = "/nowhere/recency")
refused(lmer_fast(Reaction ~ Days + (1 | Subject), sleepstudy), "pip install 'recency\\[lm\\]'")
