"""The installed cuDNN itself, which needs no GPU to check a graph: numbers of its header, and what
engines it names for an H100. Not run where it is not installed: it is half a gigabyte."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fake_driver import compiled

from hlo.gpu.cuda import cudnn_graph
from hlo.gpu.cuda.cublaslt import find_cublaslt
from hlo.gpu.cuda.cudnn import find_cudnn

LIBRARY = find_cudnn()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(LIBRARY is None, reason="nvidia-cudnn is not installed"),
]

# What cuDNN asks of a GPU, as it writes them itself.
H100 = {
    "regsPerBlock": 65536, "multiProcessorCount": 132, "smCountOrigin": 0, "warpSize": 32,
    "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
    "oversizedSharedMemoryPerBlock": 0, "reservedSharedMemoryPerBlock": 1024,
    "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024,
    "maxThreadsPerSM": 2048, "maxGridSize": [2147483647, 65535, 65535],
    "maxBlockSize": [1024, 1024, 64], "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1,
    "totalGlobalMem": 85000000000, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000,
    "memoryBusWidth": 5120, "l2CacheSize": 52428800, "cudaDeviceId": 0, "deviceVer": 900,
    "driverVer": 13000, "deviceName": "NVIDIA H100",
}  # fmt: skip
HEADER_NAMES = {
    cudnn_graph.Kind: {
        "POINTWISE": "POINTWISE_DESCRIPTOR", "CONVOLUTION": "CONVOLUTION_DESCRIPTOR",
        "ENGINE_CONFIGURATION": "ENGINECFG_DESCRIPTOR", "HEURISTICS": "ENGINEHEUR_DESCRIPTOR",
        "FORWARD": "OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR", "TENSOR": "TENSOR_DESCRIPTOR",
        "WEIGHT_GRADIENT": "OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR",
        "INPUT_GRADIENT": "OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR",
        "VARIANT_PACK": "VARIANT_PACK_DESCRIPTOR", "OPERATION_GRAPH": "OPERATIONGRAPH_DESCRIPTOR",
    },
    cudnn_graph.Attribute: {
        "POINTWISE_NAN": "POINTWISE_NAN_PROPAGATION", "CONVOLUTION_BEFORE":
        "CONVOLUTION_PRE_PADDINGS", "CONVOLUTION_AFTER": "CONVOLUTION_POST_PADDINGS",
        "HEURISTICS_RESULTS": "ENGINEHEUR_RESULTS", "PLAN_WORKSPACE":
        "EXECUTION_PLAN_WORKSPACE_SIZE", "INPUT_DX": "OPERATION_CONVOLUTION_BWD_DATA_DX",
        "WEIGHTS_DW": "OPERATION_CONVOLUTION_BWD_FILTER_DW", "PACK_WORKSPACE":
        "VARIANT_PACK_WORKSPACE", "TENSOR_ID": "TENSOR_UNIQUE_ID", "ENGINE_NUMERICAL_NOTES":
        "ENGINE_NUMERICAL_NOTE", "POINTWISE_B": "OPERATION_POINTWISE_BDESC",
    },
}  # fmt: skip
PREFIXES = {cudnn_graph.Kind: "CUDNN_BACKEND_", cudnn_graph.Attribute: "CUDNN_ATTR_"}

# Functions of the driver that the library's parts are linked with, and do not call for this.
DRIVER = (
    "cuGetErrorString",
    "cuModuleGetFunction",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuTensorMapEncodeIm2col",
    "cuTensorMapEncodeTiled",
)

# Run apart: the library keeps what it loads, and takes the first libcuda.so.1 that it finds.
PROGRAM = """
import ctypes, json, sys
from pathlib import Path
from hlo.gpu.convolution import Convolution
from hlo.gpu.cuda import cudnn
from hlo.gpu.cuda.cudnn_graph import CudnnLibrary, Descriptors
ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
opened = CudnnLibrary.open(str(cudnn.find_cudnn()))
cudnn.load_needed(opened.cuda_major)
device = Descriptors(opened).new(38)
text = sys.argv[2].encode()
opened.call("cudnnBackendSetAttribute", device, 2702, 24, ctypes.c_int64(len(text)), text)
opened.call("cudnnBackendFinalize", device)
known = cudnn.Cudnn(opened, None, device)
for case in json.loads(sys.argv[3]):
    given = {k: tuple(v) if isinstance(v, list) else v for k, v in case.items()}
    print(len(known.engines(Convolution(**given))))
"""
PLAIN = {
    "direction": "forward", "x": (8, 64, 56, 56), "w": (128, 64, 3, 3), "y": (8, 128, 56, 56),
    "layout": "last", "strides": (1, 1), "dilation": (1, 1), "before": (1, 1), "after": (1, 1),
    "turned": False, "factor": "f32", "result": "f32",
}  # fmt: skip
CASES = [
    {**PLAIN, "layout": layout, "factor": kind, "result": kind, **options}
    for layout in ("first", "last")
    for kind in ("f32", "f16", "bf16", "f64")
    for options in (
        {}, {"direction": "input"}, {"direction": "weights"}, {"w": (128, 16, 3, 3)},
        {"dilation": (2, 2), "before": (2, 2), "after": (2, 2)},
        {"before": (0, 0), "after": (2, 2)},
    )
] + [
    {**PLAIN, "factor": kind, "result": kind, **options}
    for kind in ("f32", "f16", "bf16")
    for options in (
        {"activation": "relu"}, {"bias": True}, {"bias": True, "activation": "relu"},
        {"residual": True}, {"bias": True, "residual": True, "activation": "relu"},
    )
]  # fmt: skip


def test_the_headers_numbers_are_ours() -> None:
    assert LIBRARY is not None
    header = LIBRARY.parent.parent / "include" / "cudnn_graph.h"
    text = header.read_text()
    for enum, names in HEADER_NAMES.items():
        for ours, theirs in names.items():
            found = re.search(rf"\b{PREFIXES[enum]}{theirs}\b[^=,]*=\s*(\d+)", text)
            assert found is not None, theirs
            assert int(found[1]) == enum[ours], theirs


def test_an_h100_has_engines_for_what_is_called(tmp_path: Path) -> None:
    if find_cublaslt() is None:
        pytest.skip("nvidia-cublas is not installed")
    source = tmp_path / "driver.c"
    source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in DRIVER))
    compiled(source, tmp_path / "libcuda.so.1")
    folders = [str(tmp_path), os.environ.get("LD_LIBRARY_PATH", "")]
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "libcuda.so.1"), json.dumps(H100),
         json.dumps(CASES)],
        capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, folders))},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    counts = [int(line) for line in run.stdout.split()]
    missing = [case for case, count in zip(CASES, counts, strict=True) if not count]
    assert not missing
