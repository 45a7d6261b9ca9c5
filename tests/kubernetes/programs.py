"""Helm, and kubeconform, which validates objects of Kubernetes.

    python -m tests.kubernetes.programs

builds both. `make test-programs` builds kubeconform only, in seconds: Helm takes three minutes of the processor.
"""

import sys

from tests.go_programs import Program, build

HELM = Program("helm", "helm.sh/helm/v3/cmd/helm", "v3.18.6", "python -m tests.kubernetes.programs")
KUBECONFORM = Program("kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform", "v0.7.0")
PROGRAMS = {program.name: program for program in (HELM, KUBECONFORM)}


if __name__ == "__main__":
    for name in sys.argv[1:] or PROGRAMS:
        build(PROGRAMS[name])
