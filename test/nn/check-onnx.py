# Checks models (arguments from the second on), and runs the first on the inputs of the first argument.

import sys, json, onnx, numpy, onnxruntime
for path in sys.argv[2:]:
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
session = onnxruntime.InferenceSession(sys.argv[2], providers=['CPUExecutionProvider'])
feeds = {name: numpy.array(value, dtype=numpy.float32) for name, value in json.loads(sys.argv[1]).items()}
print(json.dumps({'out': [array.tolist() for array in session.run(None, feeds)], 'meta': session.get_modelmeta().custom_metadata_map}))
