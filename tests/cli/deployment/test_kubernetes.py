"""docker/kubernetes: Kubernetes' schemas accept the manifests, and they agree with this package.

Nothing was started on a cluster by these tests."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import kubernetes_validate
import pytest
import yaml

from spade_llm.cli.command_line import build_parser
from spade_llm.core.settings import DATABASE_VARIABLE, read_environment
from tests.cli.program import ROOT

FOLDER = ROOT / "docker" / "kubernetes"
REPLICAS = {"assistant": 3, "memory": 2, "rag": 2, "tools": 2, "gateway": 2}
AGENTS = set(REPLICAS)
CLUSTER_VERSION = "1.33"
SECRETS = {"accounts", "backups", "ejabberd", "model", "postgres-app", "xmpp-certificate"}
"""Those that docs/kubernetes.md lets the operator create, and that of CloudNativePG."""
OF_OPERATORS = ("postgresql.cnpg.io/v1", "barmancloud.cnpg.io/v1")


@cache
def manifests() -> list[dict[str, Any]]:
    names = yaml.safe_load((FOLDER / "kustomization.yaml").read_text("utf-8"))["resources"]
    return [one for name in names for one in yaml.safe_load_all((FOLDER / name).read_text("utf-8"))]


def workload(name: str) -> dict[str, Any]:
    kinds = ("Deployment", "StatefulSet")
    (found,) = [
        one for one in manifests() if one["kind"] in kinds and one["metadata"]["name"] == name
    ]
    return found


def pod(name: str) -> dict[str, Any]:
    spec: dict[str, Any] = workload(name)["spec"]["template"]["spec"]
    return spec


def named(value: object, key: str) -> set[str]:
    """Values of this key, at any depth."""
    found: set[str] = set()
    if isinstance(value, dict):
        found |= {one for name, one in value.items() if name == key and isinstance(one, str)}
    members = value.values() if isinstance(value, dict) else value
    if isinstance(members, str) or not hasattr(members, "__iter__"):
        return found
    return found.union(*(named(one, key) for one in members))


@pytest.mark.parametrize(
    "manifest",
    [one for one in manifests() if one["apiVersion"] not in OF_OPERATORS],
    ids=lambda one: f"{one['kind']}-{one['metadata']['name']}",
)
def test_the_schema_of_the_cluster_accepts_each_manifest(manifest: dict[str, Any]) -> None:
    kubernetes_validate.validate(manifest, CLUSTER_VERSION, strict=True)


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_each_agent_is_started_by_a_command_of_this_version(name: str) -> None:
    (container,) = pod(name)["containers"]

    options = build_parser().parse_args(container["args"])

    folder = options.file.partition("/_agents/")[2]
    assert (ROOT / "agents" / folder).is_file()
    assert options.register
    assert options.replicas == 1
    assert workload(name)["spec"]["replicas"] == REPLICAS[name]
    variables = {one["name"] for one in container["env"]}
    assert DATABASE_VARIABLE in variables
    assert variables <= {f"SPADE_LLM_{field.upper()}" for field in vars(read_environment())}


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_a_drained_machine_takes_one_replica_at_a_time(name: str) -> None:
    (budget,) = [
        one
        for one in manifests()
        if one["kind"] == "PodDisruptionBudget" and one["metadata"]["name"] == name
    ]

    labels = workload(name)["spec"]["template"]["metadata"]["labels"]
    assert budget["spec"]["maxUnavailable"] == 1
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items()


@pytest.mark.parametrize("name", sorted(AGENTS | {"ejabberd"}))
def test_each_pod_is_closed_and_has_limits(name: str) -> None:
    spec = pod(name)

    assert spec["securityContext"]["runAsNonRoot"] is True
    for container in (*spec.get("initContainers", ()), *spec["containers"]):
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert re.search(r":\d+\.\d+", container["image"])
    for container in spec["containers"]:
        assert container["resources"]["limits"]["memory"]


def test_all_secrets_are_those_that_the_page_names() -> None:
    found = set()
    for name in AGENTS | {"ejabberd"}:
        found |= named(pod(name), "secretName")
        for container in pod(name)["containers"]:
            found |= {
                one["valueFrom"]["secretKeyRef"]["name"]
                for one in container["env"]
                if "secretKeyRef" in one.get("valueFrom", {})
            }
            found |= {one["secretRef"]["name"] for one in container.get("envFrom", ())}
    page = (ROOT / "docs" / "kubernetes.md").read_text("utf-8")

    assert found == SECRETS - {"backups"}
    for name in SECRETS - {"postgres-app"}:
        assert f"generic {name} " in page or f"tls {name} " in page


def test_the_domain_is_the_same_everywhere() -> None:
    ejabberd = yaml.safe_load((FOLDER / "ejabberd.yml").read_text("utf-8"))
    (host,) = ejabberd["hosts"]

    for name in AGENTS:
        variables = {one["name"]: one.get("value") for one in pod(name)["containers"][0]["env"]}
        assert variables["SPADE_LLM_DOMAIN"] == host
        assert f"accounts/{name}@{host}" in pod(name)["initContainers"][0]["args"][0]
