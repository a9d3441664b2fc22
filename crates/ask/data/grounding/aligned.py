"""The nets of head.bin: adapters behind the frozen model, an alignment of claim and evidence, four bits a weight.

    OUT=folder python aligned.py 1,2 4      # seeds, epochs of the first stage

Needs public.jsonl.gz (public.py) and labelled.jsonl (xtask) beside it; starts from old1.pt and so on if they are there.
Writes start*.pt (first stage), net*.pt (all), scores.json (five folds by result).
"""
import sys,os,json,gzip,random,math,time,pathlib,concurrent.futures,multiprocessing,re
import numpy as np,torch,torch.nn.functional as F
import train as T
from pairs import pairs as made_pairs, perturbed
from records import pairs as record_pairs
HERE=pathlib.Path(__file__).resolve().parent; OUT=pathlib.Path(os.environ.get('OUT','out')); D=T.DEVICE
WIDTH=T.WIDTH
class Aligned(T.Net):
    def __init__(self,narrow=64,align=False,full=False):
        super().__init__(narrow)
        self.is_align=align; P=torch.nn.Parameter
        if align:
            self.al=torch.nn.ParameterDict({k:P(torch.randn(WIDTH,128)*.03) for k in('q','k','v','c')})
            self.al['m']=P(torch.randn(512,64)*.04); self.al['mb']=P(torch.zeros(64))
            self.first=P(torch.randn(3*WIDTH+128,T.HIDDEN)*.02)
        self.full=full
        if full:
            for n in list(self._buffers):
                if n.startswith(('weight','bias','gain','shift')) or n in('words','places'):
                    v=self._buffers.pop(n); setattr(self,n,P(v))
    def states(self,ids,sides,mask):
        valid=mask[:,:,None]
        x=self.norm(self.words[ids]+self.places[:ids.shape[1]],0)+self.side[sides]
        b,l=ids.shape; H=T.HEADS
        heads=lambda t:t.view(b,l,H,WIDTH//H).transpose(1,2)
        for layer in range(T.LAYERS):
            at=6*layer
            q,k,v=(heads(self.linear(x,valid,at+n)) for n in range(3))
            a=F.scaled_dot_product_attention(q,k,v,attn_mask=mask[:,None,None,:]).transpose(1,2).reshape(b,l,WIDTH)
            x=self.adapted(self.norm(self.linear(a,valid,at+3)+x,2*layer+1),2*layer)
            w=F.gelu(self.linear(x,valid,at+4))
            x=self.adapted(self.norm(self.linear(w,valid,at+5)+x,2*layer+2),2*layer+1)
        return x
    def forward(self,ids,sides,mask):
        x=self.states(ids,sides,mask); b,l=ids.shape
        claim=((sides%2==1)&mask)[:,:,None]
        mean=torch.where(claim,x,0).sum(1)/claim.sum(1); most=torch.where(claim,x,-1e4).amax(1)
        parts=[x[:,0],mean,most]
        if self.is_align:
            h=lambda t:t.view(b,l,4,32).transpose(1,2)
            ev=((sides%2==0)&mask)
            a=F.scaled_dot_product_attention(h(x@self.al['q']),h(x@self.al['k']),h(x@self.al['v']),attn_mask=ev[:,None,None,:]).transpose(1,2).reshape(b,l,128)
            c=x@self.al['c']
            f=F.gelu(torch.cat([c,a,c*a,(c-a).abs()],-1)@self.al['m']+self.al['mb'])
            parts+=[torch.where(claim,f,0).sum(1)/claim.sum(1),torch.where(claim,f,-1e4).amax(1)]
        pooled=F.dropout(torch.cat(parts,1),self.dropout,self.training)
        return (torch.tanh(pooled@self.first+self.first_bias)@self.last+self.last_bias)[:,0]
class Batches:
    def __init__(s,enc,labels=None,weights=None):
        ids,sides,L=enc; s.lengths=L; on=lambda v:torch.tensor(v).to(D)
        s.ids,s.sides,s.long=on(ids),on(sides),on(L)
        s.labels=on(np.array(labels if labels is not None else [0]*len(L),np.float32)); s.weights=on(np.array(weights if weights is not None else [1]*len(L),np.float32))
    each=T.Batches.each
def arr(encoded):
    L=np.array([len(t) for t,_ in encoded]); ids=np.zeros((len(L),L.max()),np.int32); sides=np.zeros((len(L),L.max()),np.int8)
    for i,(t,s) in enumerate(encoded): ids[i,:len(t)]=t; sides[i,:len(t)]=s
    return ids,sides,L
@torch.no_grad()
def scores(net,enc,size=256):
    net.eval(); out=np.zeros(len(enc[2]))
    for g,ids,sides,mask,_,_ in Batches(enc).each(size): out[g]=net(ids,sides,mask).float().cpu().numpy()
    return out
def labelled(): return [json.loads(l) for l in open(HERE/'labelled.jsonl')]
def written():
    out=[]
    for l in open(HERE/'written.txt'):
        if l.startswith('@ '): shown=l[2:].rstrip('\n')
        elif l[:2] in('+ ','- '): out.append(dict(evidence=shown,claim=l[2:].rstrip('\n'),supported=l[0]=='+'))
    return out
def folds(rows):
    g=sorted({r['group'] for r in rows}); random.Random(5).shuffle(g); return {x:k%5 for k,x in enumerate(g)}
def auc(g,b): g,b=np.array(g),np.array(b); return float(np.mean((g[:,None]>b[None])+.5*(g[:,None]==b[None])))
def report(rows,s,name):
    out=[]
    for n in('tune','a','b'):
        g=[s[r['id']] for r in rows if r['from']==n and r['supported'] and r['carried']]; b=[s[r['id']] for r in rows if r['from']==n and not r['supported'] and r['carried']]
        out.append(f"{n} auc {auc(g,b):.3f}")
    print(name,*out,flush=True)
LEVELS=7.
def fake(w):
    """Four bits a weight, a scale for each column; the gradient of what it was given."""
    with torch.no_grad():
        s=w.abs().mean(-2,keepdim=True)*2.8/LEVELS+1e-9
        q=(w/s).round().clamp(-LEVELS,LEVELS)*s
    return w+(q-w).detach()
class Net(Aligned):
    quant=False
    def w(self,m): return fake(m) if self.quant else m
    def adapted(self,x,at):
        inner=F.gelu(x@self.w(self.down[at])+self.down_bias[at]); inner=F.dropout(inner,self.dropout,self.training)
        return x+inner@self.w(self.up[at])+self.up_bias[at]
    def forward(self,ids,sides,mask):
        keep=(self.al,self.first)
        if not self.quant: return super().forward(ids,sides,mask)
        al={k:(v if k=='mb' else fake(v)) for k,v in self.al.items()}; first=fake(self.first)
        return head(self,ids,sides,mask,al,first)
def head(self,ids,sides,mask,al,first):
    x=self.states(ids,sides,mask); b,l=ids.shape
    claim=((sides%2==1)&mask)[:,:,None]
    mean=torch.where(claim,x,0).sum(1)/claim.sum(1); most=torch.where(claim,x,-1e4).amax(1)
    h=lambda t:t.view(b,l,4,32).transpose(1,2); ev=((sides%2==0)&mask)
    a=F.scaled_dot_product_attention(h(x@al['q']),h(x@al['k']),h(x@al['v']),attn_mask=ev[:,None,None,:]).transpose(1,2).reshape(b,l,128)
    c=x@al['c']; f=F.gelu(torch.cat([c,a,c*a,(c-a).abs()],-1)@al['m']+al['mb'])
    parts=[x[:,0],mean,most,torch.where(claim,f,0).sum(1)/claim.sum(1),torch.where(claim,f,-1e4).amax(1)]
    pooled=F.dropout(torch.cat(parts,1),self.dropout,self.training)
    return (torch.tanh(pooled@first+self.first_bias)@self.last+self.last_bias)[:,0]
NARROW=int(os.environ.get('NARROW','80'))
def new(): return Net(narrow=NARROW,align=True).to(D)
def train(net,data,epochs,rate,size,seed,quant_from,warm=.06,say=False):
    torch.manual_seed(seed); rng=np.random.default_rng(seed); n=len(data.lengths); steps=epochs*math.ceil(n/size); step=0
    opt=torch.optim.AdamW(net.parameters(),lr=rate,weight_decay=.01)
    plan=torch.optim.lr_scheduler.LambdaLR(opt,lambda s:min((s+1)/(warm*steps+1),max(0.,1-s/steps)))
    net.train(); t=time.time()
    for e in range(epochs):
        tot=torch.zeros((),device=D)
        for _,ids,sides,mask,y,w in data.each(size,rng):
            net.quant=step>=quant_from*steps; step+=1
            with torch.autocast(D,torch.bfloat16): logits=net(ids,sides,mask)
            loss=(F.binary_cross_entropy_with_logits(logits.float(),y*(1-2*T.SMOOTH)+T.SMOOTH,reduction='none')*w).mean()
            opt.zero_grad(set_to_none=True); loss.backward(); torch.nn.utils.clip_grad_norm_(net.parameters(),1.); opt.step(); plan.step(); tot+=loss.detach()
        if say: print(f"  {say} epoch {e+1}: {tot.item()/(steps/epochs):.4f} {time.time()-t:.0f}s",flush=True)
    net.eval()
def stage1(member,epochs):
    d=np.load(OUT/'stage1.npz'); torch.manual_seed(member); net=new(); old=HERE/f'old{member}.pt'
    if old.exists(): net.load_state_dict(torch.load(old,map_location=D))
    rate,seed,quant=(7e-4,10+member,0.) if old.exists() else (1e-3,member,.6)
    train(net,Batches((d['ids'],d['sides'],d['L']),d['y'],d['w']),epochs,rate,384,seed,quant,say=f'm{member}')
    torch.save(net.state_dict(),OUT/f'start{member}.pt'); return member
def pieces(text):
    return [p.strip() for p in re.split(r'(?<=[.;!?])\s+|\\n',text) if len(p.split())>=4]
LIMITS=re.compile(r'\b(it|they|he|she|this|that|these|if|unless|except|only|but|so|however|therefore)\b',re.I)
def more(rows,seed):
    """Parts of the evidence follow from it; with two nouns exchanged they do not."""
    good,parts=[],[]
    for ev in sorted({r['evidence'] for r in rows if '":' not in r['evidence']}):
        ps=pieces(ev); parts+=ps
        if len(ps)>1: good+=[(ev,p.rstrip(';')+('' if p[-1] in '.!?' else '.'),1) for p in ps if not LIMITS.search(p)]
        m=re.match(r'(.{20,}?)[;,] (?:and|but|while|although|though) (.{15,})$',ev)
        if m and not LIMITS.search(m[1]): good.append((ev,m[1]+'.',1))
    return good+perturbed(parts,seed)
def stage2(member,fold,seeds,epochs,rate,made,public,final=False):
    texts=T.Texts(); rows=labelled(); f=folds(rows); tr=[r for r in rows if final or f[r['group']]!=fold]; te=[r for r in rows if f[r['group']]==fold]
    w=written()
    for r in w: r['group']=r['evidence']
    nets=[]; n=len(tr)+len(w)
    for seed in seeds:
        net=new(); net.load_state_dict(torch.load(OUT/f'start{member}.pt',map_location=D)); net.noise,net.dropout=True,.2
        rng=random.Random(100*member+seed); mixed,y,ws=[],[],[]
        row=lambda rs:[(r['evidence'],r['claim'],int(r['supported'])) for r in rs]
        for data,weight in ((row(tr),1.),(row(w),1.),(T.crossed(tr,seed),.3),(more(tr+w,seed),.4),(rng.sample(made,2*n),.5),(rng.sample(public,n),.3),([(r['evidence'],r['evidence'],1) for r in rng.sample(tr,len(tr)//6)],.3)):
            mixed+=data; y+=[d[2] for d in data]; ws+=[weight]*len(data)
        train(net,Batches(arr(texts.pairs(mixed)),y,ws),epochs,rate,64,100*member+seed,0.)
        nets.append(net)
    enc=arr(texts.pairs([(r['evidence'],r['claim']) for r in te])); one=scores(nets[0],enc)
    with torch.no_grad():
        for parts in zip(*(x.parameters() for x in nets)): parts[0].copy_(torch.stack(parts).mean(0))
    if final: torch.save(nets[0].state_dict(),OUT/f'net{member}.pt'); return {},{}
    s=scores(nets[0],enc)
    return {r['id']:round(float(v),4) for r,v in zip(te,s)},{r['id']:round(float(v),4) for r,v in zip(te,one)}
def main():
    t=time.time(); rng=random.Random(3); members=[int(m) for m in sys.argv[1].split(',')]; epochs=int(sys.argv[2])
    first=[(r['p'],r['h'],r['y'],r.get('src')) for r in map(json.loads,gzip.open(HERE/'public.jsonl.gz','rt'))]
    pub=[x[:3] for x in first if x[3]!='snli' or rng.random()<.5]
    again=(HERE/f'old{members[0]}.pt').exists(); old=made_pairs(17 if again else 7,120); rec=record_pairs(18 if again else 8,1100); per=perturbed(rng.sample(sorted({p for p,_,_ in pub}),50000),2 if again else 1)
    OUT.mkdir(parents=True,exist_ok=True)
    print(len(pub),len(old),len(rec),len(per),f'{time.time()-t:.0f}s',flush=True)
    data=pub+old+rec+per
    if epochs:
        i,s,L=arr(T.Texts().pairs(data)); print(i.shape,f'{time.time()-t:.0f}s',flush=True)
        np.savez(OUT/'stage1.npz',ids=i,sides=s,L=L,y=[d[2] for d in data],w=[1.]*len(data))
    ctx=multiprocessing.get_context('spawn')
    made=rng.sample(old,14000)+rng.sample(rec,18000)+rng.sample(per,14000); pub2=rng.sample(pub,20000)
    if epochs:
        with concurrent.futures.ProcessPoolExecutor(4,ctx) as pool:
            js=[pool.submit(stage1,m,epochs) for m in members]
            for j in concurrent.futures.as_completed(js): print('stage1',j.result(),f'{time.time()-t:.0f}s',flush=True)
    rows=labelled(); kept={}
    with concurrent.futures.ProcessPoolExecutor(12,ctx) as pool:
        js={}
        for m in members:
            for fold in range(5): js[pool.submit(stage2,m,fold,(1,2),4,5e-4,made,pub2)]=f'm{m}'
        for m in members: js[pool.submit(stage2,m,0,(1,2),4,5e-4,made,pub2,True)]=None
        for j in concurrent.futures.as_completed(js):
            if js[j] is None: print('all',f'{time.time()-t:.0f}s',flush=True); continue
            a,b=j.result()
            for k,v in ((js[j],a),(js[j]+'one',b)):
                k_=kept.setdefault(k,{}); k_.update(v)
                if len(k_)==len(rows): report(rows,k_,k); print(f'{time.time()-t:.0f}s',flush=True)
            (OUT/'scores.json').write_text(json.dumps(kept))
    if all(f'm{m}' in kept and len(kept[f'm{m}'])==len(rows) for m in members): kept['mean']={i:float(np.mean([kept[f'm{m}'][i] for m in members])) for i in kept[f'm{members[0]}']}; (OUT/'scores.json').write_text(json.dumps(kept)); report(rows,kept['mean'],'mean')
if __name__=='__main__': main()
