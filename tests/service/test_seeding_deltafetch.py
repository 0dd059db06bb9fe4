"""Databases of deltafetch: those that its versions wrote, and those that nobody should give."""

import base64
import dbm.dumb
import lzma
import sqlite3
import struct
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.utils.request import fingerprint

from scrapy_dedup.service.seeding_berkeley import BerkeleyError, is_berkeley, read_pairs
from scrapy_dedup.service.seeding_deltafetch import Database, is_database, keys_of, read_database
from scrapy_dedup.service.seeding_pages import FoundPage, SeedError, Unreadable
from tests.service.stored_pages import NOON, a_url

NOW = NOON + timedelta(days=100)
PAGES = 80
OWN = b"article-17"
OVERFLOWING = b"long" * 2_000

# Written by Berkeley DB 5.3 (Perl's DB_File, $DB_HASH), on a little-endian machine: a_url(0) to a_url(79), by turns
# under the fingerprints of today's Scrapy and of Scrapy before 2.7, seen at 1700000000.5 and a second later each; the
# key OWN, and OVERFLOWING, which takes two pages of its own.
BERKELEY = lzma.decompress(
    base64.b85decode(
        """
{Wp48S^xk9=GL@E0stWa8~^|S5YJf5;7|VvZCwBWXnvj`@z<BJkC=1$QW~R7;=ktaxV_Wn|1ktG60h^z^xR|-s4d6JE;SML>O64bVLS=#TII&|
@7Nf#UXrW7|E7622^R|+{;uanE!mchkI<lc;r=G^JrJjXBDaIgs*#fBy9{&li32l{B$Tp}SY*>4r(Jpnt$_6o%KY9CCnudzBL6RX-=XXj99{kq
gvt6PD?MC<uR<6LWIagvkNTcJ9p)e_9SE1iGa)5K`%8GRMhRxwzYh%nT}`O{WeOsiH@%Bl7v_aVLSvuQr~eLV%ivr{1yjN4v|Uyr1aO^H#M?yO
1k;=cbiY$qwVz_aVPG|yO8j4Q+P)9XKmMXFWcy+tPIy9iOQH=jCs``~5u9G9dVbz?=A4)Q35R~_$#PRG{tuU=3On@&HxA_(uoZ1{S<(ztZs)xo
#K+w&Ql~9*?KOzg;qkwiO%G$lI8$0`Oing*b7)<H*u{XufRIrOe{K4>-F!syR#t@taa=e_j>^xt4-l2dYi>G$?MgI(yCOuJA)dHinkTn%Lh6Bf
p7d6x<j)dGt`f$Sq)^mn$UpY)yY1c~E;p1>kOnwV^zk=VAAxD`)fFx}OU=xNlZ+sNA}H@E)e?7uxC)uyMJ$K$Lp$%}wYVI887k;7qw*VwKbG9I
TcGfOqQ>(^!NMyQl}859eEb`pa9IX6GyLFD+Bb9q!PrARu;2h#hrm(EG`}8Vq>ZjM6-DBo--YPjVKlW&m^>Z=o}`y)xJXnjDk6gn`9)dF^R2l$
TEoGp1a~@3kRxGe_JJ88fK~ZhU&uybB&;)fEo#Ms8v8tYg}6?G<w=X8H?f%`0(Yk@G<Fl#XX6;^wml5!&8_x}6qf!(0|49%9_kV@OamdHKN<+y
MH$5tK;DErf=|X>)(tAW4ovwlMpnSLRPVrf)Be6($Vo*Od*UEgV+y3*Nfrb#-vjbJ6AjCUn~N|p?8HW|rPA*>@C^u~;<7rHLS)iFW42Ma?B$)p
H-vsFhH{Pw^fXSFr@S9kzKRvnd6HCW`|&W(1!Rv>7U4QUgbh)HnI>e=OVr!kPmzg3lBgKr=k9WRkgoF@DH5AUv`oz(7c@ayD4{B4@%3W$x+t@&
r^<9N-GXS@zHlj#b-?VBw~bD#Q*b?h`GRwY7=S*UWU`Y!Q`W~ZgFulYk>fi!RZ&ANshO%6$JImr2X_k%ju`n+ccb9}dSIz~`Q!`IRl4s-L+pvD
cLDaOdFgQz_-w{1vGiRvgB@GKI2V>dhyYo-tk;3}Uj;-!)or`0Tk0v7CRPtI0b)SHSE&KyN^>3><0YG8kW@o{))KXr4cQ228L94S7NG%Kl+|bB
kb_yqSS*84)BxJkcFjY5>mmG}_hDM@AtOy@bl8RJgwgacQeL21%B#B#LeX9=z;EuV3_<-p(D%+^u+Nkt0!&)NDnQO1`XjYqgrA_WP!2Na1)#sR
B7O2Fpy#&K`&1BR&#||TAdPX4MoZ~z;3`6S)hiI3DIKB{JYAwddukgf-4p(A%H18?dpG4toOem%4_&!@<HWg3f1-Pxy3AY2`2=oPmK2E!h~@>$
{CWa=IpyGu_vP@D6y&0>umnNEYPUh}*<diQuCi?kfs=CQs5RGpU!+x?vHVmA)GcNV9W^m;56q=>&4&)~vV!&)UzOnKFpRRnRvI%W#7HRJCp{(I
OcMTt-;_=X0sbRl<heo!WCF~GY0b{N<}QrMv=3xC*sAt{;2Y@STZyhxcFang>ngcZn<~M#tdcgytXEjE2Gdl-<Sp`)V2HXZ$h>XV>Gz>2fP5wO
TXVU7i;6=)<1XAr6ViB+X@+Q}o&q!{bLB9sfgkPAV})bY+{i<Y`^=XnhtiZGLkTNY+njrq)GwQ#a%av2e%j?Z?t~9!50mzpNbS<>OI{%#Ri3f{
k>FzwO*DJGTILzZ2=Npgp`>F6m<x3;&RRh<Bc4l>F>W48nQf~QfT)cZ6nQ&tr<}{Ly2*I>ek}5UZW7z>h|o%BTwK1kMFEJuP~IHP<S_rM6sg+$
XmDwip?s1aCrAP55Sx5=u54SVjX(I(;J)!RD436V)5jySH2<yZC;|cPduuU`9)iJJTQgWU_~8l=C&D;M)L8)JJmr|Bp%XIPpM$rv=}7PhwVenv
^*GA*ywZP5?TqmHud&J#)J?f=9{GK~`)?WAs*IXhU=U6Tgr-Dgj@`$KUR32k(HchyCi3s~Lk+5-snG3bCAS)EK;x5fCaNaYR20IQ{xeod#a2iF
#?|fQjr33Frax*Sh018pxQMBE5QT_*i$1)g7MKcOUYY^Kc-k@OBGO~_HlkdXi-IQ<Do{G9Cf^#8w9QH61>u!RGd1_eT?DQT5eTRrKpEzir6CIp
@2z5h$y1@MHVzY+K?xD!oV{OzP4jiUhN#--@(}v`NwM_g$X%*MC?_HOBO6$CN_e=_3&~j(15NFn=BS5JifyiOj^nUj@Y87uxX&?Xfsqdk6zyGm
Ffx`CY+c3oM08#hlac|k5Xw=d2w=3}FYUqpjPDB4dmixo<YJWfV@RD0v$A64bD$|!=-xnqu}-u$onczP=6bV0Z5LVPrX<gw_r~s|1r}^<W5~A3
ty>j>{?8c}7chvM5pjbW=ZIDq5@P*Cn04@di!Td{1ej}5p^fPXo8W*M80H||lXcg@%D)q9I6*lQb~E~{c?k|+!<2a((Fq)K1Pv1m)QnzWAGHgQ
nTtW$&;c+#m4qT%{;)5N96m<u3!!EY!u%J_)Jbrs#Fyn}gey>!IaL*Y$j;i;F2idvmuQ0QFHk@T38{b=SX4!yCk577U@6GSw~M;vp6$smg$D+L
5Vk?5D=sT_7pLev*+=SWl}u~k>h{U~A+dlTgLV-jfVFJ&F*=|-=d8aLyD=dWsW-il_R)DAtu{He-=KrV|BGUy0<PlH`%Wz*&+I-L2b*j1tcawZ
KBK$uMVu_`u?!t7Os+smoz+1t+a;}0mv_?Y@glh}RIy;p$MJQ<G+A^Xn|z#Ey<t0`3&|nk)`*_@XOHCoFNDx`nmj??OXUW+#4&=putE}4{>QA9
g&pswu|jb8O2L=JCFx=}(MmNz3*~(82^NJ$rAu^zIFe4`GO<akLli5={{5)IPARL3i|{{TwiZfaq!a@0oLB$=00000ShUqm1u4s%00D^;fS>^Y
g{F}3vBYQl0ssI200dcD
""".replace("\n", "")
    )
)


def seen_at(number: int) -> datetime:
    return datetime.fromtimestamp(1_700_000_000.5 + number, UTC)


def a_page(number: object, key: str | None = None) -> FoundPage:
    return FoundPage(f"line {number}", a_url(number), NOON, item={"n": number}, key=key)


def pairs(pages: int = 3) -> dict[bytes, bytes]:
    return {keys_of(a_page(number))[number % 2]: str(1_700_000_000.5 + number).encode() for number in range(pages)}


def sqlite_database(folder: Path, pairs: dict[bytes, bytes], table: str = "Dict") -> Path:
    """Write what Python's dbm.sqlite3 does."""
    path = folder / "site.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE {table} (key BLOB UNIQUE NOT NULL, value BLOB NOT NULL)")
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", pairs.items())
        connection.commit()
    return path


def plain_database(folder: Path, pairs: dict[bytes, bytes]) -> Path:
    """Write what Python falls back to: three files."""
    with dbm.dumb.open(str(folder / "site.db"), "c") as database:
        for key, value in pairs.items():
            database[key] = value
    return folder / "site.db"


def berkeley_database(folder: Path, raw: bytes = BERKELEY, name: str = "site.db") -> Path:
    path = folder / name
    path.write_bytes(raw)
    return path


def module_database(folder: Path, module: str, pairs: dict[bytes, bytes]) -> Path:
    """Write what a module of `dbm` does that not every Python has."""
    if not find_spec(f"_{module.replace('dbm.', '').replace('gnu', 'gdbm').replace('ndbm', 'dbm')}"):
        pytest.skip(f"this Python has no {module}")
    written: Any = import_module(module)
    with written.open(str(folder / "site.db"), "c") as database:
        for key, value in pairs.items():
            database[key] = value
    return folder / "site.db"


WRITERS = [
    pytest.param(sqlite_database, id="sqlite"),
    pytest.param(plain_database, id="plain"),
    pytest.param(lambda folder, _: berkeley_database(folder), id="berkeley"),
    pytest.param(lambda folder, _: berkeley_database(folder, name="site.db.db").with_suffix(""), id="ndbm-of-linux"),
    pytest.param(lambda folder, pairs: module_database(folder, "dbm.gnu", pairs), id="gnu"),
    pytest.param(lambda folder, pairs: module_database(folder, "dbm.ndbm", pairs), id="ndbm"),
]


@pytest.mark.parametrize("write", WRITERS)
def test_pages_that_it_has_are_seen_when_it_says(tmp_path: Path, write: Any) -> None:
    path = write(tmp_path, pairs())
    assert is_database(path)
    database = read_database(path, NOW)

    found = list(database.matching([a_page(number) for number in (0, 1, 2, "other")]))

    assert [(page.url, page.at) for page in found if isinstance(page, FoundPage)] == [
        (a_url(number), seen_at(number)) for number in range(3)
    ]
    assert all(page.item for page in found if isinstance(page, FoundPage))
    assert (len(database.matched), database.unknown_urls) == (3, 1)


@pytest.mark.parametrize("part", ["site.db.dat", "site.db.dir"])
def test_a_database_of_several_files_may_be_named_by_one(tmp_path: Path, part: str) -> None:
    plain_database(tmp_path, pairs())

    assert is_database(tmp_path / part)
    assert len(read_database(tmp_path / part, NOW).seen) == 3


def test_the_database_is_left_as_it_was(tmp_path: Path) -> None:
    path = sqlite_database(tmp_path, pairs())
    before = path.read_bytes()
    path.chmod(0o444)

    read_database(path, NOW)

    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["site.db"]


class TestKeys:
    @pytest.mark.parametrize(
        "url",
        ["https://a.example/", "https://a.example/b?z=1&a=2#part", "https://a.example/ü?q=ß x", "HTTP://A.example:80"],
    )
    def test_they_are_scrapys(self, url: str) -> None:
        assert fingerprint(Request(url)).hex().encode() in keys_of(FoundPage("x", url, NOON))

    def test_they_are_those_of_scrapy_before_2_7(self) -> None:
        keys = [keys_of(FoundPage("x", f"http://www.example.com/{query}", NOON)) for query in ("?b=2&a=1", "?a=1&b=2")]

        assert keys[0] == keys[1]
        # sha1 of "GET" + "http://www.example.com/?a=1&b=2".
        assert keys[0][1] == b"2965a43a6c4b08253deba7d42c0687f971d334de"

    def test_what_the_spider_named_comes_first(self) -> None:
        assert keys_of(a_page(1, key="article-1"))[0] == b"article-1"

    @pytest.mark.parametrize("url", ["", "no url", "\ud800", "http://[", "https://a.example/" + "a" * 100_000])
    def test_no_url_ends_it(self, url: str) -> None:
        assert isinstance(keys_of(FoundPage("x", url, NOON)), list)


class TestOwnKeys:
    def test_they_are_counted_and_found_by_a_field(self, tmp_path: Path) -> None:
        database = read_database(berkeley_database(tmp_path), NOW)

        (page,) = database.matching([a_page("anywhere", key=OWN.decode())])

        assert isinstance(page, FoundPage)
        assert page.at == datetime.fromtimestamp(1_700_000_100, UTC)
        assert (database.own_keys, database.matched) == (1, {OWN})


@pytest.mark.parametrize(
    ("value", "at"),
    [
        pytest.param(b"1700000000.25", datetime.fromtimestamp(1_700_000_000.25, UTC), id="a-time-stamp"),
        pytest.param(b"99999999999", NOW, id="tomorrow-is-now"),
        pytest.param(b"", datetime(1970, 1, 1, tzinfo=UTC), id="nothing"),
        pytest.param(b"nan", datetime(1970, 1, 1, tzinfo=UTC), id="no-number"),
        pytest.param(b"1e300", datetime(1970, 1, 1, tzinfo=UTC), id="endless"),
        pytest.param(b"\xff", datetime(1970, 1, 1, tzinfo=UTC), id="no-text"),
    ],
)
def test_a_page_was_seen_whatever_its_time_is(tmp_path: Path, value: bytes, at: datetime) -> None:
    (key,) = pairs(1)

    assert read_database(sqlite_database(tmp_path, {key: value}), NOW).seen == {key: at}


def test_what_is_no_page_is_passed_on(tmp_path: Path) -> None:
    bad = Unreadable("line 1", "no JSON")

    assert list(Database(tmp_path, {}).matching([bad])) == [bad]


@pytest.mark.parametrize("write", [sqlite_database, plain_database])
def test_an_http_cache_in_a_database_is_refused_and_not_unpickled(tmp_path: Path, write: Any) -> None:
    key = pairs(1).popitem()[0]
    path = write(tmp_path, {key + b"_data": b"cos\nsystem\n(S'touch ran'\ntR.", key + b"_time": b"1700000000.5"})

    with pytest.raises(SeedError, match=r"pages are pickles.*not read.*FilesystemCacheStorage"):
        read_database(path, NOW)


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda folder: sqlite_database(folder, {}, table="Other"), id="another-table"),
        pytest.param(lambda folder: berkeley_database(folder, b"SQLite format 3\0" + b"\0" * 500), id="no-sqlite"),
        pytest.param(lambda folder: berkeley_database(folder, BERKELEY[:40]), id="cut-off"),
        pytest.param(lambda folder: berkeley_database(folder, b"\x13\x57\x9a\xce" + b"\0" * 500), id="no-gnu"),
        pytest.param(lambda folder: berkeley_database(folder, b"rubbish"), id="rubbish"),
        pytest.param(lambda folder: folder / "missing", id="missing"),
        pytest.param(lambda folder: folder, id="a-folder"),
    ],
)
def test_what_is_no_database_is_told(tmp_path: Path, write: Any) -> None:
    with pytest.raises(SeedError):
        read_database(write(tmp_path), NOW)


@pytest.mark.parametrize(
    "index", [b"nonsense", b"'a', (0, 5", b"'a', (0, 99999999999)", b"(" * 1_000, b"1, 2", b"\xff"]
)
def test_a_damaged_index_ends_in_no_other_error(tmp_path: Path, index: bytes) -> None:
    plain_database(tmp_path, pairs())
    (tmp_path / "site.db.dir").write_bytes(index + b"\n")

    with suppress(SeedError):
        assert len(read_database(tmp_path / "site.db", NOW).seen) <= 1


class TestBerkeley:
    def test_every_pair_that_fits_its_page_is_read(self, tmp_path: Path) -> None:
        found = dict(read_pairs(berkeley_database(tmp_path)))

        assert {key: float(value) for key, value in found.items() if key != OWN} == {
            keys_of(a_page(number))[number % 2]: 1_700_000_000.5 + number for number in range(PAGES)
        }
        assert found.keys() & {OWN, OVERFLOWING} == {OWN}

    def test_bytes_may_come_in_the_other_order(self, tmp_path: Path) -> None:
        assert dict(read_pairs(berkeley_database(tmp_path, _turned(BERKELEY)))) == dict(
            read_pairs(berkeley_database(tmp_path))
        )

    @pytest.mark.parametrize(
        ("at", "form", "value", "message"),
        [
            pytest.param(20, "<I", 12, "damaged .pages of 12 bytes", id="page-size"),
            pytest.param(20, "<I", 0, "damaged .pages of 0 bytes", id="no-page-size"),
            pytest.param(24, "<B", 1, "is encrypted", id="encrypted"),
            pytest.param(4096 + 20, "<H", 65_535, "a page with 65535 entries", id="entries"),
            pytest.param(12, "<I", 1, "is no Berkeley DB hash", id="magic"),
        ],
    )
    def test_damage_is_told(self, tmp_path: Path, at: int, form: str, value: int, message: str) -> None:
        raw = bytearray(BERKELEY)
        struct.pack_into(form, raw, at, value)

        with pytest.raises(BerkeleyError, match=message):
            list(read_pairs(berkeley_database(tmp_path, bytes(raw))))

    @pytest.mark.parametrize(("at", "value"), [(32, 2**32 - 1), (32, 0), (4096 + 26, 0), (4096 + 28, 2**31)])
    def test_numbers_that_are_not_true_end_nothing(self, tmp_path: Path, at: int, value: int) -> None:
        raw = bytearray(BERKELEY)
        struct.pack_into("<I", raw, at, value)

        assert len(list(read_pairs(berkeley_database(tmp_path, bytes(raw))))) <= PAGES + 1

    @pytest.mark.parametrize("length", [72, 4095, 4096, 5000, 8192, 12_000])
    def test_a_file_that_was_cut_off_gives_what_it_has(self, tmp_path: Path, length: int) -> None:
        assert len(list(read_pairs(berkeley_database(tmp_path, BERKELEY[:length])))) <= PAGES

    def test_nothing_else_is_taken_for_one(self) -> None:
        assert is_berkeley(BERKELEY[:32])
        assert not any(map(is_berkeley, (b"", b"SQLite format 3\0" * 2, b"{" * 32, BERKELEY[1:33])))


def _turned(raw: bytes) -> bytes:
    """Return the file as a big-endian machine would have written it, as far as it is read."""
    turned = bytearray(raw)
    numbers = [(at, "I") for at in (12, 16, 20, 32)]
    for start in range(4096, len(raw), 4096):
        entries = struct.unpack_from("<H", raw, start + 20)[0]
        if raw[start + 25] in (2, 13):
            numbers += [(start + 20, "H"), *((start + 26 + 2 * entry, "H") for entry in range(entries))]
    for at, form in numbers:
        struct.pack_into(f">{form}", turned, at, struct.unpack_from(f"<{form}", raw, at)[0])
    return bytes(turned)
