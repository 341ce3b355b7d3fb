# Named targets: `./run exp1` makes an experiment, `./run figure2` a figure of the paper.

start.require_free_names(study, workflow)

for name in config["experiments"]:

    rule:
        name:
            name
        input:
            lambda wildcards, name=name: products.outputs(study, name),
        localrule: True


for name in study.targets:

    rule:
        name:
            name
        input:
            lambda wildcards, name=name: products.target_files(study, name),
        localrule: True
