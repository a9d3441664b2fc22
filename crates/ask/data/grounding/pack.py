"""Writes head.bin from the nets of aligned.py, without torch: python pack.py head.bin net1.pt net2.pt"""
import sys,zipfile,pickle,io
import numpy as np
# reads a torch state dict without torch
class U(pickle.Unpickler):
    def __init__(s,f,z,root): super().__init__(f); s.z,s.root=z,root
    def find_class(s,m,n):
        if n=='_rebuild_tensor_v2': return lambda st,off,size,stride,*a: np.lib.stride_tricks.as_strided(st[off:],size,[4*x for x in stride]).copy()
        if n=='FloatStorage': return 'f'
        if n=='OrderedDict': import collections; return collections.OrderedDict
        return lambda *a,**k:None
    def persistent_load(s,pid): return np.frombuffer(s.z.read(f'{s.root}/data/{pid[2]}'),np.float32)
def load(p):
    z=zipfile.ZipFile(p); n=[x for x in z.namelist() if x.endswith('data.pkl')][0]; return U(io.BytesIO(z.read(n)),z,n.split('/')[0]).load()
def floats(w): return np.ascontiguousarray(w,np.float32).tobytes()
def matrix(w):
    s=np.abs(w).mean(0,keepdims=True)*2.8/7+1e-9; q=np.clip(np.round(w/s),-7,7).astype(np.int64).ravel()+8
    return floats(s[0])+(q[0::2]|(q[1::2]<<4)).astype(np.uint8).tobytes()
out=b''
for p in sys.argv[2:]:
    d=load(p)
    out+=floats(d['side'])+b''.join(matrix(m) for m in d['down'])+floats(d['down_bias'])+b''.join(matrix(m) for m in d['up'])+floats(d['up_bias'])
    out+=b''.join(matrix(d['al.'+k]) for k in 'qkvc')+matrix(d['al.m'])+floats(d['al.mb'])+matrix(d['first'])+floats(d['first_bias'])+floats(d['last'])+floats(d['last_bias'])
open(sys.argv[1],'wb').write(out); print(len(out))
