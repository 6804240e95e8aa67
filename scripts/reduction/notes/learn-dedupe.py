import re,sys
pat=re.compile(r"^import (type )?\{([^}]*)\} from '([^']+)';\n",re.M)
for p in sys.argv[1:]:
    s=open(p).read(); mods={}; order=[]
    for m in pat.finditer(s):
        t,names,mod=m.groups()
        d=mods.setdefault(mod,{})
        for n in names.split(','):
            n=n.strip()
            if not n: continue
            isT=bool(t) or n.startswith('type '); n=re.sub(r'^type ','',n)
            d[n]=d.get(n,True) and isT
    if not mods: continue
    first=pat.search(s).start(); s2=pat.sub('',s)
    lines=[]
    for mod in mods:
        d=mods[mod]
        if all(d.values()): lines.append(f"import type {{ {', '.join(sorted(d))} }} from '{mod}';\n")
        else: lines.append("import { "+', '.join(('type ' if d[n] else '')+n for n in sorted(d))+f" }} from '{mod}';\n")
    s2=s2[:first]+''.join(lines)+s2[first:]
    open(p,'w').write(s2)
