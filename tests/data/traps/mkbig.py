import json, random

r = random.Random(0)
n = 300
d = 16
m = lambda a, b: [[r.gauss(0, 1) for _ in range(b)] for _ in range(a)]
json.dump({"X": m(n, d), "W_Q": m(d, d), "W_K": m(d, d), "W_V": m(d, d)}, open("big.json", "w"))
