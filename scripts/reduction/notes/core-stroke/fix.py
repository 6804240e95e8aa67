import re,glob
for p in glob.glob('src/core/*.ts'):
    s=open(p).read(); mods={}; order=[]
    pat=re.compile(r"^import (type )?\{([^}]*)\} from ('[^']+');\n",re.M)
    for m in pat.finditer(s):
        t,names,mod=m.groups()
        if mod not in mods: mods[mod]={}; order.append(mod)
        for n in names.split(','):
            n=n.strip()
            if not n: continue
            ty=bool(t) or n.startswith('type '); n=n.removeprefix('type ').strip()
            mods[mod][n]=mods[mod].get(n,True) and ty
    if not mods: continue
    first=pat.search(s).start()
    lines=''.join("import %s{ %s } from %s;\n"%('type ' if all(v.values()) else '',', '.join(('type ' if ty and not all(v.values()) else '')+n for n,ty in sorted(v.items())),mod) for mod,v in ((k,mods[k]) for k in order))
    s=s[:first]+'\0'+s[first:]; s=pat.sub('',s).replace('\0',lines)
    s=s.replace("import.meta.url.replace('worker-pool', 'pool-thread')","import.meta.url.replace(/pool(\\.[jt]s)$/, 'pool-thread$1')")
    open(p,'w').write(s)
p='test/architecture/imports.test.ts'; s=open(p).read()
s=s.replace("  store: [],\n","").replace("  pool: [],\n","").replace("'store', 'pool', ","").replace("'store', ","").replace("'pool', ","").replace("['store']","[]")
open(p,'w').write(s)
p='test/core/folder-lock.test.ts'; s=open(p).read(); s=s.replace('../../src/store/folder-lock.js','../../src/core/folder-lock.js'); open(p,'w').write(s)
