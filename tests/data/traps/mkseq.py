import struct, sys

n = int(sys.argv[1])
h = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({n}, 2), }}".encode()
h += b" " * ((64 - (10 + len(h) + 1) % 64) % 64) + b"\n"
open("seq.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(h)) + h + bytes(16 * n))
