"""Helm, which comes as source: ``python -m tests.kubernetes.programs`` builds it, in three minutes of the processor."""

from testing.go_programs import Program, build

HELM = Program("helm", "helm.sh/helm/v3/cmd/helm", "v3.18.6", "python -m tests.kubernetes.programs")


if __name__ == "__main__":
    build(HELM)
