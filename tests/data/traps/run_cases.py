#!/usr/bin/env python3
"""Runs cases.tsv against a command.   run_cases.py [--attn 'CMD'] [--json-flag '--format json'] [--only RE] [-v] [--tsv out.tsv]
Classes: OK rc 0 | INPUT, IO, MEM rc 1..125, a message, no traceback | INPUTQ same without a message | USAGE rc 2 | PIPE rc 0 or 141, silent | INT rc 130. "A|B" = either.
Always: no traceback, no "Exception ignored", no raw control byte on stderr, no death by signal.
Checks (joined by " ;; ", "OK:"/"INPUT:" prefix = only in that outcome): err~RE err!~RE out~RE out!~RE (case-insensitive, multi-line); cell(KEY,ROW,COL) stderr names
key and cell, 1-based in words ("row 2 ... column 1") or 0-based in brackets (X[1][0], X[1, 0]); W/O/S/Q/K/V[=|==]JSON value in the JSON output ("=" 1e-9, "==" exact); tokens=JSON;
json strict JSON on stdout; clean no control/bidi characters on stdout; aligned all rows of one table equally wide; nolossy(N) N x N numbers or a note that some are hidden;
quiet nothing on stderr; fast(S); nofile(F); notmp; file(F)~RE; file(F)json; mode(F)=OCT; rowsum(EPS)."""

import argparse, json, os, re, shutil, stat, subprocess, sys, tempfile, time, unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
ALIAS = {
    "W": ["weights", "attention_weights", "attn", "attention", "probs"],
    "O": ["output", "outputs", "out", "context", "Z", "result"],
    "S": ["scores", "scaled_scores", "scaled"],
    "Q": ["Q", "q"],
    "K": ["K", "k"],
    "V": ["V", "v"],
    "tokens": ["tokens", "labels"],
}
NONF = {
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
}


def strict(s):
    def bad(c):
        raise ValueError("not strict JSON: " + c)

    return json.loads(s, parse_constant=bad)


def find(o, names):
    if isinstance(o, dict):
        for n in names:
            if n in o:
                v = o[n]
                if isinstance(v, dict):
                    v = next((v[k] for k in ("data", "values", "value") if k in v), v)
                return v
        for v in o.values():
            r = find(v, names)
            if r is not None:
                return r
    if isinstance(o, list):
        for v in o:
            if isinstance(v, (dict, list)):
                r = find(v, names)
                if r is not None:
                    return r
    return None


def same(a, b, tol):
    if isinstance(b, list):
        return isinstance(a, list) and len(a) == len(b) and all(same(x, y, tol) for x, y in zip(a, b))
    if isinstance(a, str):
        a = NONF.get(a, a)
    if isinstance(b, (int, float)) and isinstance(a, (int, float)) and not isinstance(a, bool):
        a, b = float(a), float(b)
        return (
            a == b
            or (
                tol
                and abs(a - b) <= tol * max(1, abs(b))
                and (b == 0 or abs(b) >= 1e-300 or abs(a - b) < 1e-300)
            )
            or (a != a and b != b)
        )
    return a == b


def width(s):
    w = 0
    for ch in s:
        if unicodedata.combining(ch) or unicodedata.category(ch) in ("Mn", "Me", "Cf"):
            continue
        w += 2 if unicodedata.east_asian_width(ch) in "WF" else 1
    return w


BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")


def cellre(k, r, c):
    R, C = (r, c) if not r.isdigit() else (r, c)
    r0 = str(int(r) - 1)
    c0 = (
        str(int(c) - 1) if c.isdigit() else "[" + "".join(str(int(x) - 1) for x in re.findall(r"\d", c)) + "]"
    )
    return (
        rf"\b{k}\b",
        rf"(row\s*{r}\b.*?col(umn|\.)?\s*{c}(?!\d)|\[{r0}\]\[{c0}\]|\[{r0},\s*{c0}\]|\({r},\s*{c}\))",
    )


def check(a, st):
    out, err, d = st["out"], st["err"], st["dir"]
    fl = re.I | re.M
    m = re.match(r"(err|out|any)(!?)~(.*)$", a, re.S)
    if m:
        t = {"err": err, "out": out, "any": out + err}[m[1]]
        hit = re.search(m[3], t, fl if m[1] == "err" else re.M) is not None
        return hit != bool(m[2])
    m = re.match(r"cell\((\w+),([^,]+),([^)]+)\)$", a)
    if m:
        k, rc = cellre(m[1], m[2], m[3])
        return bool(re.search(k, err) and re.search(rc, err, re.I | re.S))
    m = re.match(r"([WOSQKV])(\[\d+\])?(==?)(.*)$", a)
    if m:
        try:
            o = find(json.loads(out), ALIAS[m[1]])
        except ValueError:
            return False
        if o is not None and m[2]:
            o = o[int(m[2][1:-1])]
        return same(o, json.loads(m[4]), 0 if m[3] == "==" else 1e-9)
    m = re.match(r"tokens=(.*)$", a)
    if m:
        try:
            return find(json.loads(out), ALIAS["tokens"]) == json.loads(m[1])
        except ValueError:
            return False
    if a == "json":
        try:
            strict(out)
            return True
        except ValueError:
            return False
    if a == "clean":
        return not BAD.search(out)
    if a == "quiet":
        return err == ""
    if a == "aligned":
        blk = None
        for l in out.splitlines() + [""]:
            if re.match(r"\s*[│┃┏┡└┌├╭╰|+╞┝]", l):
                x = width(l.rstrip("\n"))
                if blk is not None and x != blk:
                    return False
                blk = x
            else:
                blk = None
        return True
    m = re.match(r"nolossy\((\d+)\)$", a)
    if m:
        n = int(m[1])
        return len(re.findall(r"\d*\.\d+", out)) >= n * n or bool(
            re.search(r"hidden|omit|truncat|more (col|row)|not shown|too wide|wider", out + err, re.I)
        )
    m = re.match(r"fast\((\d+)\)$", a)
    if m:
        return st["t"] < float(m[1])
    m = re.match(r"nofile\((.*)\)$", a)
    if m:
        return not os.path.lexists(os.path.join(d, m[1]))
    if a == "notmp":
        return set(os.listdir(d)) - st["before"] <= st["allowed"]
    m = re.match(r"file\((.*?)\)json$", a)
    if m:
        try:
            strict(open(os.path.join(d, m[1]), encoding="utf-8").read())
            return True
        except (OSError, ValueError):
            return False
    m = re.match(r"file\((.*?)\)~(.*)$", a)
    if m:
        try:
            return bool(
                re.search(m[2], open(os.path.join(d, m[1]), encoding="utf-8", errors="replace").read(), re.M)
            )
        except OSError:
            return False
    m = re.match(r"mode\((.*?)\)=(\d+)$", a)
    if m:
        try:
            return stat.S_IMODE(os.stat(os.path.join(d, m[1])).st_mode) == int(m[2], 8)
        except OSError:
            return False
    m = re.match(r"rowsum\((.*)\)$", a)
    if m:
        try:
            return all(abs(sum(r) - 1) <= float(m[1]) for r in find(json.loads(out), ALIAS["W"]))
        except (ValueError, TypeError):
            return False
    raise SystemExit("unknown check: " + a)


SHIM = '#!/bin/bash\ntrap : INT\n$ATTN_REAL "$@"\nrc=$?\n{ echo $rc >> "$ATTN_RC"; } 2>/dev/null\nexit $rc\n'


def run(case, attn, flag, timeout=90):
    d0 = tempfile.mkdtemp(prefix="attncase.")
    d = d0 + "/c"
    shutil.copytree(HERE, d, ignore=shutil.ignore_patterns("run_cases.py", "__pycache__"))
    os.mkdir(d0 + "/bin")
    with open(d0 + "/bin/attn", "w") as f:
        f.write(SHIM)
    os.chmod(d0 + "/bin/attn", 0o755)
    env = {
        k: v
        for k, v in os.environ.items()
        if k
        not in ("PYTHONUNBUFFERED", "COLUMNS", "NO_COLOR", "FORCE_COLOR", "PYTHONIOENCODING", "PYTHONUTF8")
    }
    env.update(PATH=d0 + "/bin:" + env["PATH"], ATTN_REAL=attn, ATTN_RC=d0 + "/rc", LC_ALL="C.UTF-8")
    cmd = case["command"].replace("--format json", flag)
    before = set(os.listdir(d))
    t = time.time()
    to = False
    p = subprocess.Popen(
        ["bash", "-c", cmd],
        cwd=d,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        o, e = p.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        import signal

        os.killpg(p.pid, signal.SIGKILL)
        o, e = p.communicate()
        to = True
    t = time.time() - t
    try:
        rcs = [int(x) for x in open(d0 + "/rc").read().split()]
    except OSError:
        rcs = [p.returncode]
    out, err = o.decode("utf-8", "surrogateescape"), e.decode("utf-8", "surrogateescape")
    st = dict(
        out=out,
        err=err,
        dir=d,
        t=t,
        before=before,
        allowed={"out.json", "big.json", "conc.json", "seq.npy", "seq.json"},
    )
    fails = []
    rc = max(rcs, key=lambda r: (r != 0, r)) if rcs else p.returncode
    if to:
        fails.append("TIMEOUT")
    got = None
    for cl in case["class"].split("|"):
        ok = {
            "OK": rc == 0,
            "INPUT": 1 <= rc <= 125 and err.strip() != "" or (1 <= rc <= 125 and "2>/dev/null" in cmd),
            "IO": 1 <= rc <= 125 and err.strip() != "",
            "MEM": 1 <= rc <= 125 and err.strip() != "",
            "INPUTQ": 1 <= rc <= 125,
            "USAGE": rc == 2,
            "PIPE": rc in (0, 141),
            "INT": rc == 130,
        }[cl]
        if ok:
            got = cl
            break
    if got is None:
        fails.append(f"class {case['class']} but rc={rc}")
    if re.search(r"Traceback \(most recent|Traceback \(innermost|─ Traceback", err):
        fails.append("traceback")
    if "Exception ignored" in err:
        fails.append("Exception ignored")
    if re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", err):
        fails.append("raw control byte on stderr")
    for a in filter(None, case["expect"].split(" ;; ")):
        m = re.match(r"(OK|INPUT|MEM|IO):(.*)$", a, re.S)
        if m:
            if got != m[1]:
                continue
            a = m[2]
        if not check(a, st):
            fails.append(a if len(a) < 90 else a[:87] + "...")
    subprocess.run(["chmod", "-R", "u+rwx", d0], stderr=subprocess.DEVNULL)
    shutil.rmtree(d0, ignore_errors=True)
    return fails, rc, t, out, err


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--attn", default="attn")
    p.add_argument("--json-flag", default="--format json")
    p.add_argument("--only", default="")
    p.add_argument("-v", action="store_true")
    p.add_argument("--tsv")
    a = p.parse_args()
    rows = [l.rstrip("\n").split("\t") for l in open(HERE + "/cases.tsv", encoding="utf-8")]
    cases = [dict(zip(rows[0], r)) for r in rows[1:]]
    n = {}
    log = []
    for c in cases:
        if a.only and not re.search(a.only, c["id"]):
            continue
        if c["id"] == "P47" and os.geteuid() == 0:
            print("SKIP P47 (root)")
            continue
        f, rc, t, out, err = run(c, a.attn, a.json_flag)
        k = n.setdefault(c["area"], [0, 0])
        k[bool(f)] += 1
        print(
            f"{'FAIL' if f else 'ok  '} {c['id']:5} rc={rc} {t:5.1f}s {c['command'][:70]}"
            + (f"\n       {'; '.join(f)}" if f else ""),
            flush=True,
        )
        if a.v and f:
            print("       | " + (err or out)[-600:].replace("\n", "\n       | "))
        log.append(
            (
                c["id"],
                "FAIL" if f else "ok",
                str(rc),
                f"{t:.1f}",
                "; ".join(f),
                err.strip().splitlines()[-1][:200] if err.strip() else "",
            )
        )
    for k, (g, b) in n.items():
        print(f"{k:6} {g} ok, {b} failed")
    g = sum(x[0] for x in n.values())
    b = sum(x[1] for x in n.values())
    if a.tsv:
        open(a.tsv, "w").write("\n".join("\t".join(x) for x in log) + "\n")
    print(f"{g} passed, {b} failed")
    sys.exit(b > 0)


if __name__ == "__main__":
    main()
