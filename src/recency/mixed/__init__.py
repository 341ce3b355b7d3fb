"""Linear mixed models of reading times: fitted on cross-products, confirmed and told by lme4."""
