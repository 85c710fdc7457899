"""Small files in the form in which OmegaT, Trados and memoQ write them. They were written for the tests."""

from __future__ import annotations

OMEGAT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx11.dtd">
<tmx version="1.1">
  <header creationtool="OmegaT" o-tmf="OmegaT TMX" adminlang="EN-US" datatype="plaintext" creationtoolversion="5.7" \
segtype="sentence" srclang="EN-US"/>
  <body>
<!-- Default translations -->
    <tu>
      <tuv lang="EN-US">
        <seg>Open &lt;f0/> the valve.</seg>
      </tuv>
      <tuv lang="DE-DE" changeid="me" changedate="20240101T000000Z">
        <seg>Öffnen Sie &lt;f0/> das Ventil.</seg>
      </tuv>
    </tu>
    <tu>
      <tuv lang="EN-US">
        <seg>Close it.</seg>
      </tuv>
    </tu>
<!-- Alternative translations -->
    <tu>
      <prop type="file">manual.odt</prop>
      <note>Short.</note>
      <tuv lang="EN-US">
        <seg>Wait.</seg>
      </tuv>
      <tuv lang="DE-DE">
        <seg/>
      </tuv>
    </tu>
  </body>
</tmx>
""".replace("\n", "\r\n")

SDLXLIFF = """\ufeff<?xml version="1.0" encoding="utf-8"?><xliff xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0" \
xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2" sdl:version="1.0"><doc-info \
xmlns="http://sdl.com/FileTypes/SdlXliff/1.0"><rep-defs><rep-def id="r1"/></rep-defs></doc-info>
<file original="C:\\manual.docx" datatype="x-sdlfilterframework2" source-language="en-US" target-language="de-DE">
<header><sdl:ref-files><sdl:ref-file uid="0"/></sdl:ref-files><tag-defs \
xmlns="http://sdl.com/FileTypes/SdlXliff/1.0"><tag id="5"><bpt name="cf">&lt;cf bold="True"&gt;</bpt></tag></tag-defs>\
</header><body>
<group><sdl:cxts><sdl:cxt id="2"/></sdl:cxts><trans-unit id="a1"><source>First one. Second <g id="5">one</g>. Third.\
</source><seg-source><mrk mtype="seg" mid="1">First one.</mrk> <mrk mtype="seg" mid="2">Second <g id="5">one</g>.</mrk>\
 <mrk mtype="seg" mid="3">Third.</mrk></seg-source><target><mrk mtype="seg" mid="1">Erstens.</mrk> <mrk mtype="seg" \
mid="2"/> <mrk mtype="seg" mid="3">Drei.</mrk></target><sdl:seg-defs><sdl:seg id="1" conf="Translated" \
origin="interactive"><sdl:value key="SegmentIdentityHash">x=</sdl:value></sdl:seg><sdl:seg id="2"/><sdl:seg id="3" \
conf="Draft" origin="tm" origin-system="main" percent="87" struct-match="true"/></sdl:seg-defs></trans-unit></group>
<group><trans-unit id="a2"><source>Close <x id="7"/> the valve.</source><seg-source><g id="9"><mrk mtype="seg" mid="4">\
Close <x id="7"/> the valve.</mrk></g></seg-source><sdl:seg-defs><sdl:seg id="4"/></sdl:seg-defs></trans-unit></group>
<group><trans-unit id="a3"><source>Fixed.</source><seg-source><mrk mtype="seg" mid="5">Fixed.</mrk></seg-source>\
<target><mrk mtype="seg" mid="5">Fest.</mrk></target><sdl:seg-defs><sdl:seg id="5" conf="ApprovedSignOff" \
locked="true"/></sdl:seg-defs></trans-unit></group>
<trans-unit id="lockTU_1" translate="no"><source>F1</source></trans-unit>
</body></file></xliff>""".replace("\n", "\r\n")

MQXLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:mq="MQXliff" mq:version="1">
<file original="guide.docx" source-language="en-gb" target-language="de-de" datatype="x-docx">
<header><tool tool-id="MQ" tool-name="MemoQ"/></header>
<body>
<trans-unit id="1" mq:status="NotStarted" mq:segmentguid="5e0">
<source xml:space="preserve"><bpt id="1" ctype="bold">{}</bpt>Open<ept id="1">{}</ept> the valve.</source>
<target xml:space="preserve"></target>
</trans-unit>
<trans-unit id="2" mq:status="ManuallyConfirmed" mq:percent="100">
<source xml:space="preserve">Close it.</source>
<target xml:space="preserve">Schließen Sie es.</target>
<mq:minorversions><mq:historical-unit mq:status="NotStarted"><source>Close.</source><target>Zu.</target>\
</mq:historical-unit></mq:minorversions>
</trans-unit>
<trans-unit id="3" mq:status="Pretranslated" mq:locked="no"><source>Wait.</source><target>Warte.</target></trans-unit>
<trans-unit id="4" mq:status="Proofread" mq:locked="locked"><source>F1</source><target>F1</target></trans-unit>
<trans-unit id="5"><source>No status.</source></trans-unit>
</body>
</file>
</xliff>
"""
