"""Codes of languages: the language of a tag, with one code for each language."""

from __future__ import annotations

import re

_OTHER_CODES = """
iw=he in=id ji=yi mo=ro no=nb nor=nb nob=nb nno=nn afr=af ara=ar ben=bn bod=bo tib=bo bre=br bul=bg cat=ca ces=cs cze=cs
dan=da deu=de ger=de dzo=dz ell=el gre=el eng=en epo=eo spa=es est=et eus=eu baq=eu fas=fa per=fa fin=fi fra=fr fre=fr
gle=ga glg=gl guj=gu hau=ha heb=he hin=hi hrv=hr hun=hu hye=hy arm=hy ind=id isl=is ice=is ita=it jpn=ja khm=km kor=ko
kur=ku lat=la lao=lo lit=lt lav=lv mar=mr mkd=mk mac=mk mlt=mt msa=ms may=ms mya=my bur=my nld=nl dut=nl pol=pl por=pt
ron=ro rum=ro rus=ru slk=sk slo=sk slv=sl som=so sot=st sqi=sq alb=sq srp=sr swa=sw swe=sv tgl=tl tha=th tur=tr ukr=uk
urd=ur vie=vi yor=yo zho=zh chi=zh cmn=zh zul=zu
"""  # older codes, and codes of three letters (ISO 639-2), each with the code that is used now
_RARE_CODES = """
aar=aa abk=ab ave=ae aka=ak tw=ak twi=ak amh=am arg=an arb=ar asm=as ava=av aym=ay ayr=ay aze=az azj=az bak=ba bel=be
bis=bi bam=bm bos=bs che=ce cha=ch cos=co cre=cr chu=cu chv=cv cym=cy wel=cy div=dv ewe=ee ekk=et pes=fa fuc=ff ful=ff
fij=fj fao=fo fry=fy gla=gd grn=gn gug=gn glv=gv hmo=ho hat=ht her=hz ina=ia ile=ie ibo=ig iii=ii ipk=ik ido=io ike=iu
iku=iu jav=jv geo=ka kat=ka kng=kg kon=kg kik=ki kua=kj kaz=kk kal=kl kan=kn kau=kr knc=kr kas=ks kmr=ku kom=kv kpv=kv
cor=kw kir=ky ltz=lb lug=lg lim=li lin=ln lub=lu lvs=lv mlg=mg plt=mg mah=mh mao=mi mri=mi mal=ml khk=mn mon=mn zsm=ms
nau=na nde=nd nep=ne npi=ne ndo=ng nbl=nr nav=nv nya=ny oci=oc ojg=oj oji=oj gaz=om orm=om ori=or ory=or oss=os pan=pa
pli=pi pbu=ps pus=ps que=qu quz=qu roh=rm run=rn mol=ro kin=rw san=sa srd=sc snd=sd sme=se sag=sg sin=si smo=sm sna=sn
als=sq ssw=ss sun=su swh=sw tam=ta tel=te tgk=tg tir=ti tuk=tk fil=tl tsn=tn ton=to tso=ts tat=tt tah=ty uig=ug uzb=uz
uzn=uz ven=ve vol=vo wln=wa wol=wo xho=xh ydd=yi yid=yi zha=za
"""  # more codes of three letters, many of which are also words
_GROUPS = """
aav afa alg alv apa aqa aql art ath auf aus awd azc bad bai bat ber bih bnt btk cai cau cba ccn ccs cdc cdd cel cmc cpe
cpf cpp crp csu cus day dmn dra egx esx euq fiu fox gem gme gmq gmw grk hmx hok hyx iir ijo inc ine ira iro itc jpx kar
kdo khi kro map mkh mno mun myn nah nai ngf nic nub omq omv oto paa phi plf poz pqe pqw pra qwe roa sai sal sdv sem sgn
sio sit sla smi son sqj ssa syd tai tbq trk tup tut tuw urj wak wen xgn xnd ypk zhx zle zls zlw znd mis mul und zxx
"""  # groups of languages (ISO 639-5), and the codes for several languages, an unknown one and none
ALIASES = dict(pair.split("=") for pair in _OTHER_CODES.split())
_ALL_ALIASES = ALIASES | dict(pair.split("=") for pair in _RARE_CODES.split())
GROUPS = frozenset(_GROUPS.split())


def language_of(tag: str) -> str:
    """Return the language of a tag, without region and script.

    >>> language_of("en-US"), language_of("DEU"), language_of("zho_Hans"), language_of("")
    ('en', 'de', 'zh', '')
    """
    language = code_of(tag)
    return _ALL_ALIASES.get(language, language)


def code_of(tag: str) -> str:
    """Return the code of the language in a tag as it is written, in lower case."""
    return re.split("[-_@]", tag.strip().lower())[0]


def is_one_language(code: str) -> bool:
    """Whether a code is that of one language. Others are groups of languages, such as `roa`, or names.

    >>> is_one_language("udm"), is_one_language("roa"), is_one_language("romance")
    (True, False, False)
    """
    return len(code) in (2, 3) and code not in GROUPS
