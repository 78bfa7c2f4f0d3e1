"""Time zones by city name, in English and Spanish."""

from __future__ import annotations

from functools import lru_cache
from zoneinfo import available_timezones

from spade_llm.core.text import fold_accents

AREAS = frozenset(
    ["Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe"]
    + ["Indian", "Pacific"]
)

# Cities that no zone is named after, and Spanish names: folded as `fold` does it.
ZONE_OF_CITY = {
    zone: cities.split(", ")
    for zone, cities in {
        "Europe/Madrid": "spain, espana, barcelona, valencia, sevilla, seville, bilbao, malaga, "
        "zaragoza, alicante, murcia, granada, palma",
        "Europe/London": "londres, uk, england, inglaterra, manchester, edinburgh, edimburgo, "
        "glasgow, liverpool, birmingham, oxford, cambridge",
        "Europe/Paris": "france, francia, lyon, marseille, marsella, toulouse, bordeaux, "
        "niza, nice",
        "Europe/Berlin": "germany, alemania, munich, munchen, frankfurt, hamburg, hamburgo, "
        "cologne, colonia, stuttgart, dresden, leipzig",
        "Europe/Rome": "roma, italy, italia, milan, milano, naples, napoles, turin, florence, "
        "florencia, venice, venecia, bologna, bolonia",
        "Europe/Lisbon": "lisboa, porto, oporto",
        "Europe/Brussels": "bruselas, antwerp, amberes",
        "Europe/Amsterdam": "rotterdam, the hague, la haya, utrecht",
        "Europe/Zurich": "geneva, ginebra, basel, basilea, bern, berna",
        "Europe/Vienna": "viena, salzburg, salzburgo",
        "Europe/Athens": "atenas",
        "Europe/Moscow": "moscu, saint petersburg, san petersburgo",
        "Europe/Stockholm": "estocolmo, gothenburg, gotemburgo",
        "Europe/Copenhagen": "copenhague",
        "Europe/Warsaw": "varsovia, krakow, cracovia",
        "Europe/Prague": "praga",
        "Europe/Istanbul": "estambul, ankara",
        "Europe/Kyiv": "kiev",
        "Europe/Bucharest": "bucarest",
        "Europe/Belgrade": "belgrado",
        "America/New_York": "nueva york, nyc, new york city, boston, washington, washington dc, "
        "miami, atlanta, philadelphia, filadelfia, orlando",
        "America/Chicago": "dallas, houston, austin, new orleans, nueva orleans, minneapolis",
        "America/Denver": "salt lake city",
        "America/Los_Angeles": "san francisco, seattle, san diego, las vegas, portland, san jose, "
        "silicon valley, palo alto",
        "America/Toronto": "ottawa, montreal, quebec",
        "America/Sao_Paulo": "rio de janeiro, rio, brasilia",
        "America/Mexico_City": "mexico, ciudad de mexico, cdmx, puebla",
        "America/Havana": "la habana, habana",
        "America/Bogota": "medellin, cali, cartagena",
        "America/Guayaquil": "quito",
        "America/Lima": "cusco, cuzco",
        "America/Santiago": "santiago de chile, valparaiso",
        "Africa/Cairo": "el cairo",
        "Africa/Johannesburg": "cape town, ciudad del cabo, pretoria, durban",
        "Africa/Algiers": "argel",
        "Africa/Casablanca": "marrakech, rabat",
        "Asia/Tokyo": "tokio, japan, japon, osaka, kyoto, kioto, yokohama",
        "Asia/Shanghai": "beijing, pekin, china, shenzhen, guangzhou, canton",
        "Asia/Hong_Kong": "hongkong",
        "Asia/Kolkata": "india, mumbai, bombay, delhi, new delhi, nueva delhi, bangalore, "
        "bengaluru, chennai, hyderabad, calcutta, calcuta, pune",
        "Asia/Seoul": "seul, busan",
        "Asia/Singapore": "singapur",
        "Asia/Jerusalem": "jerusalen, tel aviv",
        "Asia/Dubai": "abu dhabi, abu dabi",
        "Asia/Karachi": "islamabad, lahore",
        "Asia/Ho_Chi_Minh": "hanoi, saigon",
        "Australia/Sydney": "canberra",
        "Pacific/Auckland": "wellington",
        "Pacific/Honolulu": "hawaii, hawai",
        "UTC": "utc, gmt",
    }.items()
}


def time_zone_of(city: str) -> str | None:
    """The IANA name of the zone where this city lies. The first call reads the zone files."""
    zones = _zones()
    whole = fold_accents(city)
    return zones.get(whole) or zones.get(whole.partition(",")[0].strip())


@lru_cache(maxsize=1)
def _zones() -> dict[str, str]:
    """The table above wins; among zones of the same city the shortest name, then the last."""
    zones: dict[str, str] = {}
    for name in sorted(available_timezones(), key=lambda n: (-len(n), n)):
        if name.partition("/")[0] in AREAS:
            zones[fold_accents(name)] = zones[fold_accents(name.rpartition("/")[2])] = name
    for zone, cities in ZONE_OF_CITY.items():
        zones |= dict.fromkeys(cities, zone)
    return zones
