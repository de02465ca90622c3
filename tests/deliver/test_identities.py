"""Which words of a text name a host, a user or a directory, and what is left when they have pseudonyms."""

from __future__ import annotations

import pytest

from stepscope.deliver.identities import Finder, Pseudonyms, pieces
from support.limits import at_most


def _redacted(*texts: str, hosts: tuple[str, ...] = (), known: tuple[str, ...] = ()) -> list[str]:
    found = Finder(frozenset(known))
    for host in hosts:
        found.host(host)
    for text in texts:
        for piece in pieces(text):
            found.piece(piece)
    names = Pseudonyms(found)
    return [names.text(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/alice/proj/train.py(12): step", "dir-1/train.py(12): step"),
        ("  /home/alice/My Proj/train.py(12): step", "  dir-1/train.py(12): step"),
        ("/Users/alice/train.py:12 step", "dir-1/train.py:12 step"),
        ("/root/secret/train.py(1): f", "dir-1/train.py(1): f"),
        ("C:\\Users\\alice\\proj\\train.py(3): f", "dir-1/train.py(3): f"),
        ("C:\\Users\\Alice Smith\\proj\\train.py(3): f", "dir-1/train.py(3): f"),
        ("D:/data/alice/x.py", "dir-1/x.py"),
        ("\\\\fileserver\\share\\x.py", "dir-1/x.py"),
        ("/home/alice", "dir-1"),
        ("/alice", "dir-1"),
        ("cwd /alice is full", "cwd dir-1 is full"),
        ('{"cwd": "/alice"}', '{"cwd": "dir-1"}'),
        ("alice/train.py(3): f", "dir-1/train.py(3): f"),
        ("../alice/net/train.py(3): f", "dir-1/train.py(3): f"),
        ("see ./alice/run.json", "see dir-1/run.json"),
        ("alice\\net\\x.py", "dir-1/x.py"),
        ("cwd=/home/alice, ok", "cwd=dir-1, ok"),
        ("/mnt/home/alice", "dir-1"),
        ("HOME=/root", "HOME=dir-1"),
        ("C:\\Users\\alice", "dir-1"),
        ("~alice/x.py", "dir-1/x.py"),
        ('File "/home/alice/My Proj/a.py", line 3', 'File "dir-1/a.py", line 3'),
        ("f (/home/alice/My Proj/a.py:3)", "f (dir-1/a.py:3)"),
        ("g++ -I/opt/alice/include/x.h -o /tmp/alice/o.o", "g++ -Idir-1/x.h -o dir-2/o.o"),
        ("PATH=/opt/alice/bin:/opt/alice/x", "PATH=dir-1:dir-2"),
        ("cwd is /data/team/alice now", "cwd is dir-1 now"),
        ("/home/x/alice", "dir-1"),
        ("/data/alice runs/x.py", "dir-1/x.py"),
        ("moved /data/alice runs/x.py to /tmp/alice/y.py", "moved dir-1/x.py to dir-2/y.py"),
        ("%2Fhome%2Falice%2Fx.py", "dir-1/x.py"),
        ("file:///data/alice%20b/x.py", "file:///dir-1/x.py"),
        ("[fe80::1:a11ce]:29500", "host-1:29500"),
        ("tcp://[fe80::1:a11ce]:29500", "tcp://host-1:29500"),
        ("git@alice-host.corp:team/x.git", "user-1@host-1:dir-1/x.git"),
        ("a\\n/opt/alice/x.py", "a\\ndir-1/x.py"),
        ("file:///home/alice/x.py", "file:///dir-1/x.py"),
        ("s3://alice-data/secret/x.pt", "s3://host-1/dir-1/x.pt"),
        ("tcp://alice:pw@gpu17.corp:29500", "tcp://host-1:29500"),
        ("from 10.1.2.3 on", "from host-1 on"),
        ("fe80::1:a1ce up", "host-1 up"),
        ("10.1.2.3%eth0_60000_0", "host-1%eth0_60000_0"),
        (
            "/home/alice/env/lib/python3.11/site-packages/torch/nn/modules/module.py(1751): _call_impl",
            "site-packages/torch/nn/modules/module.py(1751): _call_impl",
        ),
        ("/usr/lib/python3/dist-packages/numpy/x.py(1): f", "dist-packages/numpy/x.py(1): f"),
        (
            "/home/alice/a.py(1): f;/home/alice/b c/b.py(2): g\n/home/alice/a.py(3): h",
            "dir-1/a.py(1): f;dir-2/b.py(2): g\ndir-1/a.py(3): h",
        ),
    ],
)
def test_directories_go_and_what_makes_a_trace_useful_stays(text: str, expected: str) -> None:
    (found,) = _redacted(text)
    assert found == expected
    assert "alice" not in found.lower()


@pytest.mark.parametrize(
    "text",
    [
        "aten::mm",
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int, float*)",
        "jit(train)/jit(main)/transpose(jvp(dot))/dot_general",
        "Default/network/backbone/conv1/Conv2D-op12",
        "/job:localhost/replica:0/task:0/device:GPU:0",
        "nn.Module: Linear_0",
        "<built-in method a of type object at 0x7f>",
        "torch/nn/modules/module.py(1751): _call_impl",
        "threading.py(10): run",
        "network/layers/attention",
        "tcp://127.0.0.1:29500 and http://localhost:80",
        "cudnn 9.1.0.70, 1/2, a / b, 50%, //",
        "C:\\",
        "",
        "训练/步骤",
        "AscendCL@aclrtSynchronizeStreamWithTimeout",
        "Node@launch",
        "Dequeue@aclnnConv2d",
        "hcom_allReduce__210_0_1@17148521525495523210",
        "memcpy@plt",
        "q@k",
        "torch.nn.functional.linear",
        "model.net.forward",
        "USER=root HOSTNAME=localhost",
    ],
)
def test_what_names_nobody_stays(text: str) -> None:
    assert _redacted(text, hosts=("gpu17",)) == [text]


def test_hosts_are_found_in_any_text_by_full_and_short_name_in_any_case() -> None:
    texts = ("GPU17_4242.pt.trace.json", "on gpu17.corp.local", "gpu170 and mygpu17 stay", "gpu18")
    assert _redacted(*texts, hosts=("gpu17.corp.local", "gpu18")) == [
        "host-1_4242.pt.trace.json",
        "on host-1",
        "gpu170 and mygpu17 stay",
        "host-2",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mail alice.b@corp-x.cn now", "mail user-1@host-1 now"),
        ("alice@node17: step", "user-1@host-1: step"),
        ("alice@box:~/x$ python", "user-1@host-1:~/x$ python"),
        ("by alice@box", "by user@host"),
        ("gpu-a-12.corp.net:29500", "host-1:29500"),
        ("filer01.corp.net:/export/alice/x.py", "host-1:dir-1/x.py"),
        ("on gpu-a-12.cluster.local now", "on host-1 now"),
        (
            "USER=alice HOSTNAME=dgx-a-017 MASTER_ADDR=dgx-a-016:29500",
            "USER=user-1 HOSTNAME=host-1 MASTER_ADDR=host-2:29500",
        ),
        ("USERNAME='al'", "USERNAME='user-1'"),
        ("\\\\服务器\\共享\\alice\\a.py(3): f", "dir-1/a.py(3): f"),
        ("/tmp/torchinductor_alice/4z/c4z.py(31): call of alice", "dir-1/c4z.py(31): call of user-1"),
        ("/users/alice/x.py(1): f by alice", "dir-1/x.py(1): f by user-1"),
    ],
)
def test_accounts_machines_and_variables_of_the_environment_go(text: str, expected: str) -> None:
    assert _redacted(text) == [expected]


def test_what_only_may_be_an_account_names_nobody_elsewhere() -> None:
    assert _redacted("attn@proj", "attn of proj") == ["user@host", "attn of proj"]


def test_users_known_from_a_path_are_found_as_words() -> None:
    texts = ("worker of alice", "alice_op", "malice Alice", "/home/alice/x.py(1): f")
    assert _redacted(*texts) == ["worker of user-1", "user-1_op", "malice user-1", "dir-1/x.py(1): f"]


def test_sibling_nodes_are_hosts_too() -> None:
    texts = ("to dgx-a17 and DGX-A18", "gpu19.corp.local", "gpu19 alone", "adgx-a17")
    assert _redacted(*texts, hosts=("dgx-a16", "gpu17.corp.local")) == [
        "to host-3 and host-4",
        "host-5",
        "host-5 alone",
        "adgx-a17",
    ]


@pytest.mark.parametrize(
    ("host", "text", "expected"),
    [
        ("node17", "from node18 to Node3", "from host-2 to host-3"),
        ("worker-2", "worker-3 waits", "host-2 waits"),
        ("gpu17", "gpu18 has gpu0 and gpu1", "host-2 has gpu0 and gpu1"),
        ("gpu7", "gpu0 and gpu1", "gpu0 and gpu1"),
        ("node17", "node_embedding1 and nodes18", "node_embedding1 and nodes18"),
    ],
)
def test_siblings_of_hosts_with_everyday_names_are_hosts_and_parts_of_a_machine_are_not(
    host: str, text: str, expected: str
) -> None:
    assert _redacted(text, hosts=(host,)) == [expected]


@pytest.mark.parametrize("name", ["ann_experiment.json", "annas trace.json.gz", "exp-of-ann_rank0.pt.trace.json"])
def test_the_own_name_of_a_file_goes_where_it_may_name_somebody(name: str) -> None:
    found = Finder()
    found.capture(name)
    redacted = Pseudonyms(found).text(f"/data/team/{name} was cut")
    assert "ann" not in redacted
    assert redacted == f"dir/capture-1{name[name.index('.') :]} was cut"


@pytest.mark.parametrize("name", ["user", "test", "u", "42"])
def test_a_user_with_an_everyday_name_does_not_spoil_other_texts(name: str) -> None:
    texts = (f"/home/{name}/x.py(1): f", f"aten::{name} {name} step")
    assert _redacted(*texts) == ["dir-1/x.py(1): f", texts[1]]


def test_a_host_with_an_everyday_name_does_not_spoil_other_texts() -> None:
    assert _redacted("worker 3", "gpu", hosts=("worker", "gpu")) == ["worker 3", "gpu"]


@pytest.mark.parametrize("name", ["alice_1.17.pt.trace.json", "alice_77_20250109123456789_ascend_pt"])
def test_the_name_of_a_capture_tells_a_host(name: str) -> None:
    found = Finder()
    found.capture(name)
    assert "alice" not in Pseudonyms(found).text(name)


@pytest.mark.parametrize(
    "name", ["rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", "worker_1.pt.trace.json", "trace.json"]
)
def test_not_every_name_of_a_capture_does(name: str) -> None:
    found = Finder()
    found.capture(name)
    assert Pseudonyms(found).text(name) == name


def test_blanks_in_a_known_directory_end_nothing() -> None:
    texts = ("/data/My Runs/a.json", "/data/My Runs cannot be read", "see /data/My Runs/sub/b.json", "/data/My Runs2/x")
    assert _redacted(*texts, known=("/data/My Runs",)) == [
        "dir-1/a.json",
        "dir-1 cannot be read",
        "see dir-2/b.json",
        "dir-3",
    ]


def test_numbers_do_not_depend_on_the_order_of_texts() -> None:
    texts = ("/b/alice/x.py", "/a/bob/y.py", "/home/zoe/z.py", "/home/carl/c.py", "zoe carl")
    assert _redacted(*texts) == _redacted(*reversed(texts))[::-1]


@pytest.mark.parametrize("piece", ["a.", "/a", '"/', "'/a b/", "\\", "C:\\", "/home/", "~", "1.", "(/a", "\\\\a\\"])
def test_long_hostile_texts_take_bounded_time(piece: str) -> None:
    with at_most(20):
        _redacted(piece * 20_000, hosts=("gpu17",))
