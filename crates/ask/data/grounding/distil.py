"""The nets of head.bin: they learn from labels and from teacher.py, which is larger; four bits a weight.

    OUT=folder TEACHER=w0,w1,w2 python distil.py 3      # how many nets; TINY=1 POOL=20 to see whether it runs

Needs meta.json and what TEACHER names (teacher.py), public.jsonl.gz (public.py) and labelled.jsonl (xtask) beside it;
nets with an old1.pt and so on (start1.pt of aligned.py) start from that, the others from nothing.
Writes net*.pt and scores.json (five folds by result; neither teacher nor net has seen the result in question).
"""
import sys,os,json,gzip,random,math,time,pathlib,re
import numpy as np,torch,torch.nn.functional as F,torch.multiprocessing as mp
import train as T, teacher as TT
from pairs import pairs as made_pairs, perturbed
from records import pairs as record_pairs
HERE=pathlib.Path(__file__).resolve().parent; OUT=pathlib.Path(os.environ.get('OUT','out')); D=T.DEVICE; W=T.WIDTH
NARROW=int(os.environ.get('NARROW','80')); TINY=bool(os.environ.get('TINY')); LEVELS=7.; START=time.time()
POOL=int(os.environ.get('POOL','28000')); SIZE2=192; EPOCHS2=3; RATE2=9e-4
def say(*a): print(f'[{time.time()-START:.0f}s]',*a,flush=True)
def fake(w):
    """Four bits a weight, a scale for each column; the gradient of what it was given."""
    with torch.no_grad():
        s=w.abs().mean(-2,keepdim=True)*2.8/LEVELS+1e-9
        q=(w/s).round().clamp(-LEVELS,LEVELS)*s
    return w+(q-w).detach()
class Net(T.Net):
    quant=False
    def __init__(s,narrow=NARROW):
        super().__init__(narrow); P=torch.nn.Parameter
        s.al=torch.nn.ParameterDict({k:P(torch.randn(W,128)*.03) for k in('q','k','v','c')})
        s.al['m']=P(torch.randn(512,64)*.04); s.al['mb']=P(torch.zeros(64)); s.first=P(torch.randn(3*W+128,T.HIDDEN)*.02); s.half=None
    def frozen(s,at):
        if s.half is None: s.half=[(getattr(s,f'weight{n}').t().contiguous().bfloat16(),getattr(s,f'bias{n}').bfloat16()) for n in range(6*T.LAYERS)]
        return s.half[at]
    def lin(s,x,at): return F.linear(x,*s.frozen(at)) if s.training else x@getattr(s,f'weight{at}')+getattr(s,f'bias{at}')
    def states(s,ids,sides,mask):
        valid=mask[:,:,None]; f=fake if s.quant else (lambda w:w); down,up=f(s.down),f(s.up)
        x=s.norm(s.words[ids]+s.places[:ids.shape[1]],0)+s.side[sides]; b,l=ids.shape
        heads=lambda t:t.view(b,l,T.HEADS,W//T.HEADS).transpose(1,2)
        def adapted(x,at):
            inner=F.dropout(F.gelu(F.linear(x,down[at].t(),s.down_bias[at])),s.dropout,s.training); return x+F.linear(inner,up[at].t(),s.up_bias[at])
        for layer in range(T.LAYERS):
            at=6*layer; qx=s.quantised(x,valid)
            q,k,v=(heads(s.lin(qx,at+n)) for n in range(3))
            a=F.scaled_dot_product_attention(q,k,v,attn_mask=mask[:,None,None,:]).transpose(1,2).reshape(b,l,W)
            x=adapted(s.norm(s.lin(s.quantised(a,valid),at+3)+x,2*layer+1),2*layer)
            w=F.gelu(s.lin(s.quantised(x,valid),at+4))
            x=adapted(s.norm(s.lin(s.quantised(w,valid),at+5)+x,2*layer+2),2*layer+1)
        return x
    def forward(s,ids,sides,mask):
        x=s.states(ids,sides,mask); b,l=ids.shape; f=fake if s.quant else (lambda w:w)
        al={k:(v if k=='mb' else f(v)) for k,v in s.al.items()}; claim=((sides%2==1)&mask)[:,:,None]; ev=(sides%2==0)&mask
        h=lambda t:t.view(b,l,4,32).transpose(1,2)
        a=F.scaled_dot_product_attention(h(x@al['q']),h(x@al['k']),h(x@al['v']),attn_mask=ev[:,None,None,:]).transpose(1,2).reshape(b,l,128)
        c=x@al['c']; g=F.gelu(torch.cat([c,a,c*a,(c-a).abs()],-1)@al['m']+al['mb'])
        most=lambda t:torch.where(claim,t,-1e4).amax(1); mean=lambda t:torch.where(claim,t,0).sum(1)/claim.sum(1)
        pooled=F.dropout(torch.cat([x[:,0],mean(x),most(x),mean(g),most(g)],1),s.dropout,s.training)
        return (torch.tanh(pooled@f(s.first)+s.first_bias)@s.last+s.last_bias)[:,0]
class Batches:
    def __init__(s,enc,labels=None,weights=None):
        ids,sides,L=enc; s.lengths=L; on=lambda v:torch.tensor(v).to(D); n=len(L)
        s.ids,s.sides,s.long=on(ids),on(sides),on(L)
        s.labels=on(np.array(labels if labels is not None else [0]*n,np.float32)); s.weights=on(np.array(weights if weights is not None else [1]*n,np.float32))
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
def labelled(): return [json.loads(l) for l in open(HERE/'labelled.jsonl')][::60 if TINY else 1]
def written():
    out=[]
    for l in open(HERE/'written.txt'):
        if l.startswith('@ '): shown=l[2:].rstrip('\n')
        elif l[:2] in('+ ','- '): out.append(dict(evidence=shown,claim=l[2:].rstrip('\n'),supported=l[0]=='+',group=shown))
    return out[:40] if TINY else out
def folds(rows):
    g=sorted({r['group'] for r in rows}); random.Random(5).shuffle(g); return {x:k%5 for k,x in enumerate(g)}
def auc(g,b): g,b=np.array(g),np.array(b); return float(np.mean((g[:,None]>b[None])+.5*(g[:,None]==b[None]))) if len(g) and len(b) else 0.
def report(rows,s,name):
    out=[]
    for n in('tune','a','b'):
        of=lambda y:[s[r['id']] for r in rows if r['from']==n and r['supported']==y and r['carried'] and r['id'] in s]
        out.append(f"{n} {auc(of(True),of(False)):.3f}")
    say(name,'auc',*out)
def train(net,data,epochs,rate,size,seed,quant_from,warm=.06,name=None,noise=False):
    torch.manual_seed(seed); rng=np.random.default_rng(seed); n=len(data.lengths); steps=epochs*math.ceil(n/size); step=0
    opt=torch.optim.AdamW(net.parameters(),lr=rate,weight_decay=.01,fused=D=='cuda')
    plan=torch.optim.lr_scheduler.LambdaLR(opt,lambda s:min((s+1)/(warm*steps+1),max(0.,1-s/steps)))
    net.train()
    for e in range(epochs):
        tot=torch.zeros((),device=D)
        for _,ids,sides,mask,y,w in data.each(size,rng):
            net.quant=step>=quant_from*steps; net.noise=noise and step>=steps//2; step+=1
            with torch.autocast(D,torch.bfloat16): logits=net(ids,sides,mask)
            loss=(F.binary_cross_entropy_with_logits(logits.float(),y*(1-2*T.SMOOTH)+T.SMOOTH,reduction='none')*w).mean()
            opt.zero_grad(set_to_none=True); loss.backward(); torch.nn.utils.clip_grad_norm_(net.parameters(),1.); opt.step(); plan.step(); tot+=loss.detach()
        if name: say(name,f'epoch {e+1}: {tot.item()/(steps/epochs):.4f}')
    net.quant,net.noise=True,noise; net.eval()
def narrowed(d):
    """Of the adapters' columns those that do most."""
    if d['down'].shape[2]==NARROW: return d
    keep=(d['down'].norm(dim=1)*d['up'].norm(dim=2)).topk(NARROW,1).indices.sort(1).values
    d=dict(d); d['up']=torch.stack([u[k] for u,k in zip(d['up'],keep)]); d['down_bias']=torch.stack([u[k] for u,k in zip(d['down_bias'],keep)]); d['down']=torch.stack([u[:,k] for u,k in zip(d['down'],keep)]); return d
def pieces(text): return [p.strip() for p in re.split(r'(?<=[.;!?])\s+|\\n',text) if len(p.split())>=4]
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
TOKEN=re.compile(r'[A-Za-z][\w./@+-]*\w|\d[\w.:/%+-]*|[A-Za-z]')
SMALL=set('the a an of to in on at by for with and or is are was were be been has have had it its this that as from not'.split())
ADDED=['not','never','only','always','may','already','still','not yet','all','some','most','at least','at most','about','more than','less than','no longer','reportedly','probably']
def altered(row,rng,texts):
    """A claim or its evidence a little changed: whether it follows is for the teacher to say."""
    ev,claim=row; words=claim.split(' '); kind=rng.random(); found=TOKEN.findall(ev)+(TOKEN.findall(rng.choice(texts)) if rng.random()<.3 else [])
    found=[w for w in found if w.lower() not in SMALL]; known={w.lower() for w in found}
    at=[m for m in TOKEN.finditer(claim) if m[0].lower() not in SMALL]; shared=[m for m in at if m[0].lower() in known]
    if kind<.3 and at and found:
        m=rng.choice(shared or at); like=[w for w in found if w[0].isdigit()==m[0][0].isdigit() and w.lower()!=m[0].lower()]
        if like: return ev,claim[:m.start()]+rng.choice(like)+claim[m.end():]
    elif kind<.42 and len(at)>1:
        p,q=sorted(rng.sample(shared if len(shared)>1 else at,2),key=lambda m:m.start()); return ev,claim[:p.start()]+q[0]+claim[p.end():q.start()]+p[0]+claim[q.end():]
    elif kind<.54 and len(words)>4:
        n=rng.randint(1,min(4,len(words)-3)); k=rng.randint(0,len(words)-n); return ev,' '.join(words[:k]+words[k+n:])
    elif kind<.66:
        k=rng.randint(0,len(words)-1); return ev,' '.join(words[:k]+[rng.choice(ADDED)]+words[k:])
    elif kind<.8:
        other=rng.choice(texts); return (ev+' '+other if rng.random()<.5 else other+' '+ev),claim
    elif kind<.9 and len(found)>3:
        p,q=rng.sample(found[:40],2); mark=lambda w:re.compile(r'(?<!\w)'+re.escape(w)+r'(?!\w)'); return mark(q).sub(lambda _:p,mark(p).sub('\0',ev)).replace('\0',q),claim
    cut=[p for p in re.split(r'(?<=[.;,}])\s*',ev) if p]
    if len(cut)>1: k=rng.randrange(len(cut)); return ' '.join(cut[:k]+cut[k+1:]),claim
    return ev,claim
def pool(rows,n,seed):
    """Claims held against evidence that may or may not carry them."""
    rng=random.Random(seed); by={}
    for r in rows: by.setdefault(r[2],[]).append(r)
    out=[]
    while len(out)<n:
        r=rng.choice(rows); g=by[r[2]]; texts=[x[0] for x in g]; o=rng.choice(g); kind=rng.random()
        if kind<.22 and len(g)>1: out.append((rng.choice(g)[0],o[1]))
        elif kind<.32 and len(g)>1:
            a,b=r[1].rstrip('.'),o[1]; out.append((r[0] if r[0]==o[0] else r[0]+' '+o[0],a+rng.choice([' and ',', and ','; ',', while '])+b))
        else:
            p=altered((r[0],o[1] if o[0]==r[0] else r[1]),rng,texts); p=altered(p,rng,texts) if rng.random()<.2 else p
            if p!=(r[0],r[1]): out.append(p)
    return out
def new_teacher(state=None):
    net=TT.Teacher(None if state else TT.weights(os.environ['TEACHER'].split(','),HERE/'meta.json')) if not TINY else TT.Teacher(L=1)
    if state: net.load_state_dict(torch.load(state,map_location='cpu'))
    return net.to(D)
def mixture(rows,fold,k,made,public):
    """What the second stage sees: labelled pairs (all but those of the fold) in the middle of others."""
    f=folds(rows); tr=[r for r in rows if f[r['group']]!=fold]; w=written(); rng=random.Random(1000*k+7); n=len(tr)+len(w)
    row=lambda rs:[(r['evidence'],r['claim'],int(r['supported'])) for r in rs]; data=[]
    for part,weight,share in ((row(tr),1.,.0),(row(w),1.,.0),(T.crossed(tr,k),.3,.5),(more(tr+w,k),.4,.3),(rng.sample(made,min(len(made),2*n)),.5,.3),(rng.sample(public,min(len(public),n)),.3,.5),([(r['evidence'],r['evidence'],1) for r in rng.sample(tr,len(tr)//6)],.3,0.)):
        data+=[(e,c,y,weight,share) for e,c,y in part]
    return data,[(e,c) for e,c in pool([(r['evidence'],r['claim'],r['group']) for r in tr+w],POOL,k)]
def taught(job):
    """The teacher's second stage for one fold, and what it says of the mixture; fold 5 leaves nothing out."""
    fold,made,public=job; rows=labelled(); f=folds(rows); texts=T.Texts(); nets=[]; data,extra=mixture(rows,fold,1,made,public); enc=arr(texts.pairs([d[:2] for d in data]))
    for seed in (0,1):
        net=new_teacher(OUT/'teacher.pt'); TT.train(net,Batches(enc,[d[2] for d in data],[d[3] for d in data]),1 if TINY else 3,2e-5,64,seed); nets.append(net)
    said=lambda pairs:np.mean([TT.scores(n,Batches(arr(texts.pairs(pairs)))) for n in nets],0)
    every=[d[:2] for d in data]+extra; z=said(every); i,s,L=arr(texts.pairs(every))
    y=[d[2]*(1-d[4])+d[4]/(1+math.exp(-v)) for d,v in zip(data,z)]+[1/(1+math.exp(-v)) for v in z[len(data):]]
    np.savez(OUT/f'mix{fold}.npz',ids=i,sides=s,L=L,y=np.array(y,np.float32),w=np.array([d[3] for d in data]+[.5]*len(extra),np.float32))
    te=[r for r in rows if f[r['group']]==fold]; say('taught',fold,len(data),len(extra))
    return {r['id']:round(float(v),4) for r,v in zip(te,said([(r['evidence'],r['claim']) for r in te]))} if te else {}
def stage1(job):
    member,=job; torch.manual_seed(member); net=Net().to(D); old=HERE/f'old{member}.pt'
    if old.exists(): net.load_state_dict(narrowed(torch.load(old,map_location=D)))
    else:
        d=np.load(OUT/'stage1.npz'); train(net,Batches((d['ids'],d['sides'],d['L']),d['y']),1 if TINY else 4,1.2e-3,384,10+member,.6,name=f'm{member}')
    torch.save(net.state_dict(),OUT/f'part{member}.pt'); os.rename(OUT/f'part{member}.pt',OUT/f'start{member}.pt'); return member
def stage2(job):
    member,fold=job; rows=labelled(); f=folds(rows); te=[r for r in rows if f[r['group']]==fold]; nets=[]
    while not (OUT/f'start{member}.pt').exists(): time.sleep(1)
    d=np.load(OUT/f'mix{fold}.npz'); data=Batches((d['ids'],d['sides'],d['L']),d['y'],d['w'])
    for seed in (0,1):
        net=Net().to(D); net.load_state_dict(torch.load(OUT/f'start{member}.pt',map_location=D)); net.dropout=.2
        train(net,data,1 if TINY else EPOCHS2,RATE2,SIZE2,100*member+seed,0.,noise=True); nets.append(net)
    with torch.no_grad():
        for parts in zip(*(x.parameters() for x in nets)): parts[0].copy_(torch.stack(parts).mean(0))
    if not te: torch.save(nets[0].state_dict(),OUT/f'net{member}.pt'); return {}
    s=scores(nets[0],arr(T.Texts().pairs([(r['evidence'],r['claim']) for r in te])))
    return {r['id']:round(float(v),4) for r,v in zip(te,s)}
def data1(rng):
    first=[(r['p'],r['h'],r['y'],r.get('src')) for n in('public','public2') if (HERE/f'{n}.jsonl.gz').exists() for r in map(json.loads,gzip.open(HERE/f'{n}.jsonl.gz','rt'))]
    pub=[x[:3] for x in first if x[3]!='snli' or rng.random()<.5]; few=2 if TINY else None
    old=made_pairs(27,few or 120); rec=record_pairs(28,few or 1500); per=perturbed(rng.sample(sorted({p for p,_,_ in pub}),100 if TINY else 50000),3)
    if TINY: pub=rng.sample(pub,500); old=old[:300]
    return pub,old,rec,per
def main():
    members=list(range(1,1+int(sys.argv[1]))); rng=random.Random(3); OUT.mkdir(parents=True,exist_ok=True); rows=labelled(); texts=T.Texts(); Net()
    pub,old,rec,per=data1(rng); say(len(pub),len(old),len(rec),len(per),len(rows),len(written()))
    data=pub+old+rec+per; i,s,L=arr(texts.pairs([d[:2] for d in data])); y=[d[2] for d in data]; say(i.shape,L.mean())
    np.savez(OUT/'stage1.npz',ids=i,sides=s,L=L,y=np.array(y,np.float32))
    made=rng.sample(old,min(len(old),14000))+rng.sample(rec,min(len(rec),18000))+rng.sample(per,min(len(per),14000)); pub2=rng.sample(pub,min(len(pub),20000)); kept={}
    ctx=mp.get_context('spawn'); order=[5] if TINY else [5,0,1,2,3,4]
    with ctx.Pool(1) as one, ctx.Pool(1 if TINY else 3) as two, ctx.Pool(1 if TINY else 12) as three:
        first=one.map_async(stage1,[(m,) for m in members],1)
        net=new_teacher(); TT.train(net,Batches((i,s,L),y),1 if TINY else 2,5e-5,256,1,say='teacher')
        torch.save(net.state_dict(),OUT/'teacher.pt'); report(rows,{r['id']:v for r,v in zip(rows,TT.scores(net,Batches(arr(texts.pairs([(r['evidence'],r['claim']) for r in rows])))))},'teacher, first stage')
        del net; torch.cuda.empty_cache() if D=='cuda' else None; kept['teacher']={}
        for f,part in zip(order,two.imap(taught,[(f,made,pub2) for f in order],1)):
            kept['teacher'].update(part)
        two.terminate(); report(rows,kept['teacher'],'teacher'); (OUT/'scores.json').write_text(json.dumps(kept))
        jobs=[(m,f,three.apply_async(stage2,((m,f),))) for f in order for m in members]
        for m,f,job in jobs:
            kept.setdefault(f'm{m}',{}).update(job.get()); (OUT/'scores.json').write_text(json.dumps(kept)); say('did',m,f)
            if len(kept[f'm{m}'])==len(rows): report(rows,kept[f'm{m}'],f'm{m}')
        say('stage1',first.get())
    if all(len(kept[f'm{m}'])==len(rows) for m in members): kept['mean']={k:float(np.mean([kept[f'm{m}'][k] for m in members])) for k in kept['m1']}; report(rows,kept['mean'],'mean')
    (OUT/'scores.json').write_text(json.dumps(kept)); say('done')
if __name__=='__main__': main()
