import re,subprocess,os
IMP=re.compile(r"^import\s+(type\s+)?\{([^}]*)\}\s+from\s+'([^']+)';\n",re.M)
files=subprocess.run("git status --short | awk '{print $NF}' | grep -E '\\.ts$'",shell=True,capture_output=True,text=True).stdout.split()
for f in files:
    if not os.path.exists(f): continue
    s=open(f).read()
    ms=list(IMP.finditer(s))
    by={}
    for m in ms:
        d=by.setdefault(m.group(3),{})
        for n in m.group(2).split(','):
            n=n.strip()
            if not n: continue
            t=bool(m.group(1)) or n.startswith('type ')
            n=re.sub(r'^type\s+','',n)
            d[n]=d.get(n,True) and t
    seen=set()
    def sub(m):
        k=m.group(3)
        if k in seen: return ''
        seen.add(k); d=by[k]; allT=all(d.values())
        return f"import {'type ' if allT else ''}{{ "+', '.join(('' if allT or not t else 'type ')+n for n,t in sorted(d.items()))+f" }} from '{k}';\n"
    y=IMP.sub(sub,s)
    if y!=s: open(f,'w').write(y)
