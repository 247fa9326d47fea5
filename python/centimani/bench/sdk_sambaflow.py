# SPDX-License-Identifier: Apache-2.0
"""sdk_sambaflow.py - SambaNova's RDUs: SambaFlow, which compiles a program (PEF) for each length. Not tested on hardware.

Needs SambaFlow's virtual environment on a DataScale node. Compiling a program takes minutes, so name few cases.
"""
import tempfile
import time

from .sdk import Chain, Sdk


class SambaFlow(Sdk):
    module, needs, base = "sambaflow.samba", "SambaNova's SambaFlow on a DataScale node", "sambanova-sn30"

    def loop(self, function, operands, written_out):
        samba, made = self._found(), {}
        from sambaflow.samba import utils
        inputs = [samba.from_torch_tensor(x, name=f"operand{i}") for i, x in enumerate(operands)]

        def program(calls):
            model = Chain(function, calls)
            samba.from_torch_model_(model)
            pef = samba.session.compile(model, inputs, name=f"calls{calls}", inference=True, output_folder=tempfile.mkdtemp())
            return model, pef

        def seconds(calls):
            if calls not in made:
                made[calls] = program(calls)
            model, pef = made[calls]
            utils.trace_graph(model, inputs, pef=pef)
            begin = time.perf_counter()
            found = samba.session.run(input_tensors=inputs, output_tensors=model.output_tensors, section_types=["FWD"])
            samba.to_torch(found[0]).sum().item()
            return time.perf_counter() - begin
        return seconds


BACKEND = SambaFlow("rdu", ("fp32", "bf16"))
