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
ALIASES = dict(pair.split("=") for pair in _OTHER_CODES.split())


def language_of(tag: str) -> str:
    """Return the language of a tag, without region and script.

    >>> language_of("en-US"), language_of("DEU"), language_of("zho_Hans"), language_of("")
    ('en', 'de', 'zh', '')
    """
    language = re.split("[-_@]", tag.strip().lower())[0]
    return ALIASES.get(language, language)
