"""A real llama.cpp server, by the package that carries it prebuilt (xllamacpp). Usage: llama_server.py MODEL.gguf PORT"""

import sys
import threading

import xllamacpp

model, port = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = model
params.hostnames = ["127.0.0.1"]
params.port = int(port)
params.n_parallel = 2
params.n_ctx = 8192
params.cpuparams.n_threads = 1
server = xllamacpp.Server(params)
threading.Event().wait()
