"""A larger model that the nets of head.bin learn from: all-mpnet-base-v2 (12 layers of 768), read with the same tokens.

    python teacher.py model.safetensors FOLDER      # writes w0, w1, w2 and meta.json: five bits a weight, so that they travel
"""
import json,math,time,sys,pathlib
import numpy as np,torch,torch.nn.functional as F
D="cuda" if torch.cuda.is_available() else "cpu"
def weights(folders,meta):
    files=[np.fromfile(f,np.uint8) for f in folders]; out={}
    cut=lambda place:files[place[0]][place[1]:place[1]+place[2]]
    for name,shape,kind,body,scale in json.load(open(meta)):
        if kind=='h': out[name]=torch.tensor(cut(body).view(np.float16).astype(np.float32).reshape(shape)); continue
        n=int(np.prod(shape)); b=np.unpackbits(cut(body))[:5*n].reshape(n,5); q=b@np.array([16,8,4,2,1],np.uint8)
        s=np.maximum(cut(scale).view(np.float16).astype(np.float32),1e-8)
        out[name]=torch.tensor(((q.astype(np.float32)-16).reshape(-1,64)*s[:,None]).reshape(shape))
    return out
class Teacher(torch.nn.Module):
    def __init__(s,w=None,W=768,L=12):
        super().__init__(); s.W,s.L=W,L; P=torch.nn.Parameter; nn=torch.nn
        s.words=nn.Embedding(30527,W); s.places=nn.Embedding(264,W); s.rel=nn.Embedding(32,12); s.side=P(torch.zeros(4,W))
        lin=lambda a,b:nn.ModuleList([nn.Linear(a,b) for _ in range(L)]); nor=lambda:nn.ModuleList([nn.LayerNorm(W,eps=1e-5) for _ in range(L)])
        s.qkv=lin(W,3*W); s.o=lin(W,W); s.up=lin(W,4*W); s.down=lin(4*W,W); s.n1=nor(); s.n2=nor(); s.n0=nn.LayerNorm(W,eps=1e-5)
        s.first=nn.Linear(3*W,W); s.last=nn.Linear(W,1); s.drop=.1
        if w: s.fill(w)
        r=torch.arange(264); d=r[None]-r[:,None]; n=-d; side=(n<0).long()*16; n=n.abs()
        far=8+(torch.log(n.float().clamp(min=1)/8)/math.log(128/8)*8).long(); far=far.clamp(max=15)
        s.register_buffer('bucket',side+torch.where(n<8,n,far),persistent=False)
    def fill(s,w):
        with torch.no_grad():
            s.words.weight.copy_(w['embeddings.word_embeddings.weight']); s.places.weight.copy_(w['embeddings.position_embeddings.weight'][:264]); s.rel.weight.copy_(w['encoder.relative_attention_bias.weight'])
            s.n0.weight.copy_(w['embeddings.LayerNorm.weight']); s.n0.bias.copy_(w['embeddings.LayerNorm.bias'])
            for i in range(s.L):
                g=lambda n:w[f'encoder.layer.{i}.{n}']
                for t in('weight','bias'):
                    getattr(s.qkv[i],t).copy_(torch.cat([g(f'attention.attn.{x}.{t}') for x in 'qkv']))
                    getattr(s.o[i],t).copy_(g(f'attention.attn.o.{t}')); getattr(s.up[i],t).copy_(g(f'intermediate.dense.{t}')); getattr(s.down[i],t).copy_(g(f'output.dense.{t}'))
                    getattr(s.n1[i],t).copy_(g(f'attention.LayerNorm.{t}')); getattr(s.n2[i],t).copy_(g(f'output.LayerNorm.{t}'))
    def states(s,ids,sides,mask,marks=True):
        b,l=ids.shape; W=s.W; p=s.drop if s.training else 0.
        ids=torch.where(ids==101,0,torch.where(ids==102,2,ids+4)); ids=torch.where(mask,ids,1)
        x=s.words(ids)+s.places.weight[2:l+2]
        x=F.dropout(s.n0(x),p,s.training)
        if marks: x=x+s.side[sides]
        bias=s.rel(s.bucket[:l,:l]).permute(2,0,1)[None]+torch.where(mask,0.,-1e4)[:,None,None,:]
        h=lambda t:t.view(b,l,12,64).transpose(1,2)
        bias=bias.detach()
        if x.is_cuda: x=x.bfloat16(); bias=bias.bfloat16()
        for i in range(s.L):
            q,k,v=s.qkv[i](x).chunk(3,-1)
            a=F.scaled_dot_product_attention(h(q),h(k),h(v),attn_mask=bias.to(q.dtype)).transpose(1,2).reshape(b,l,W)
            x=s.n1[i](F.dropout(s.o[i](a),p,s.training)+x)
            x=s.n2[i](F.dropout(s.down[i](F.gelu(s.up[i](x))),p,s.training)+x)
        return x
    def forward(s,ids,sides,mask):
        x=s.states(ids,sides,mask); claim=((sides%2==1)&mask)[:,:,None]
        mean=torch.where(claim,x,0).sum(1)/claim.sum(1); most=torch.where(claim,x,-1e4).amax(1)
        return s.last(F.dropout(torch.tanh(s.first(F.dropout(torch.cat([x[:,0],mean,most],1),.1,s.training))),.1,s.training))[:,0]
def train(net,data,epochs,rate,size,seed,smooth=.03,warm=.06,say=None,until=None):
    torch.manual_seed(seed); rng=np.random.default_rng(seed); steps=epochs*math.ceil(len(data.lengths)/size); t=time.time(); k=0
    new=[p for n,p in net.named_parameters() if n.split('.')[0] in('first','last','side')]; old=[p for n,p in net.named_parameters() if n.split('.')[0] not in('first','last','side')]
    opt=torch.optim.AdamW([dict(params=old,lr=rate),dict(params=new,lr=3*rate)],weight_decay=.01,fused=D=='cuda')
    plan=torch.optim.lr_scheduler.LambdaLR(opt,lambda s:min((s+1)/(warm*steps+1),max(0.,1-s/steps)))
    net.train()
    for e in range(epochs):
        tot=torch.zeros((),device=D)
        for _,ids,sides,mask,y,w in data.each(size,rng):
            with torch.autocast(D,torch.bfloat16,enabled=D=='cuda'): z=net(ids,sides,mask)
            loss=(F.binary_cross_entropy_with_logits(z.float(),y*(1-2*smooth)+smooth,reduction='none')*w).mean()
            opt.zero_grad(set_to_none=True); loss.backward(); torch.nn.utils.clip_grad_norm_(net.parameters(),1.); opt.step(); plan.step(); tot+=loss.detach(); k+=1
            if say and k%500==0: print(f'  {say} {k}/{steps} {time.time()-t:.0f}s',flush=True)
        if say: print(f'  {say} epoch {e+1} {tot.item()/(steps/epochs):.4f} {time.time()-t:.0f}s',flush=True)
    net.eval()
@torch.no_grad()
def scores(net,data,size=512):
    net.eval(); out=np.zeros(len(data.lengths),np.float32); order=np.argsort(data.lengths,kind='stable')
    for k in range(0,len(order),size):
        g=order[k:k+size]; l=int(data.lengths[g].max()); r=torch.tensor(g).to(D); mask=torch.arange(l,device=D)[None]<data.long[r][:,None]
        with torch.autocast(D,torch.bfloat16,enabled=D=='cuda'): out[g]=net(data.ids[r][:,:l].long(),data.sides[r][:,:l].long(),mask).float().cpu().numpy()
    return out
def pack(model,folder):
    from safetensors.numpy import load_file
    meta,parts=[],[bytearray()]
    def put(b):
        if len(parts[-1])+len(b)>31_500_000: parts.append(bytearray())
        parts[-1].extend(b); return len(parts)-1,len(parts[-1])-len(b),len(b)
    for name,w in sorted(load_file(model).items()):
        if name.startswith('pooler') or name.endswith('position_ids'): continue
        w=(w[:264] if 'position_embeddings' in name else w).astype(np.float32)
        if w.ndim<2 or w.size<100000 or 'position' in name: meta.append((name,list(w.shape),'h',put(w.astype(np.float16).tobytes()),None)); continue
        x=w.reshape(-1,64); s=(np.abs(x).max(1,keepdims=True)/15).astype(np.float16)
        q=(np.clip(np.round(x/np.maximum(s.astype(np.float32),1e-8)),-15,15)+16).astype(np.uint8).ravel()
        meta.append((name,list(w.shape),'q',put(np.packbits(np.unpackbits(q[:,None],axis=1)[:,3:].ravel()).tobytes()),put(s.tobytes())))
    for n,part in enumerate(parts): (pathlib.Path(folder)/f'w{n}').write_bytes(part)
    (pathlib.Path(folder)/'meta.json').write_text(json.dumps(meta))
if __name__=='__main__': pack(*sys.argv[1:])
