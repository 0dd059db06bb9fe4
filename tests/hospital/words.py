"""Sentences of a hospital, in Dutch, French and German: as many as are asked for, and never the same by chance."""

from random import Random
from typing import Final

_PARTS: Final[dict[str, tuple[list[str], ...]]] = {
    "nl": (
        """De verpleegkundige|Uw behandelend arts|De anesthesist|Onze kinesitherapeut|De sociale dienst|De apotheker
        |Een vrijwilliger|Het onthaal|De diëtiste|Uw huisarts|De vroedvrouw|De chirurg|Het labo|De ombudsdienst
        |Een psycholoog|De logopedist|De hoofdverpleegkundige|De radioloog|Onze pastor|De ergotherapeut""".split("|"),
        """bespreekt|controleert|noteert|herhaalt|verzorgt|plant|bekijkt|organiseert|begeleidt|beoordeelt|vraagt|bezorgt
        |registreert|verduidelijkt|wijzigt|bevestigt|bewaart|onderzoekt|regelt|voorbereidt""".split("|"),
        """uw medicatie|de uitslag van het bloedonderzoek|het verband rond de wonde|de afspraak op de polikliniek
        |uw vragen over de ingreep|de brief voor de huisarts|het dagelijkse oefenschema|de hoogte van het bed
        |de maaltijden zonder zout|uw identiteitskaart en verzekering|het vervoer naar huis|de pijn na de operatie
        |een rolstoel of looprek|het bezoek van uw familie|de foto van de longen|uw gewicht en bloeddruk
        |de nachtrust op de kamer|de resultaten van de scan|uw allergieën en dieet|een tweede gesprek""".split("|"),
        """op de dag van de opname|kort voor het ontslag|elke ochtend rond acht uur|samen met uw partner
        |zodra de koorts daalt|na een rustige nacht|in het bijzijn van een tolk|tijdens de wekelijkse raadpleging
        |zonder dat u iets hoeft te betalen|binnen de twee weken|aan de balie van het dagziekenhuis
        |als de wachttijd te lang wordt|volgens het schema van de dienst|op de derde verdieping
        |wanneer u dat zelf wenst|voor u naar de operatiezaal gaat|met bijzondere aandacht voor ouderen
        |in de loop van de namiddag|bij het begin van de behandeling|telkens wanneer u belt""".split("|"),
    ),
    "fr": (
        """L'infirmière|Votre médecin traitant|Le service social|La pharmacienne|Le chirurgien|Notre équipe""".split(
            "|"
        ),
        """vous explique|prépare avec vous|vérifie encore|vous remet|organise""".split("|"),
        """le déroulement de l'opération|les médicaments à prendre|la date de votre prochain rendez-vous
        |le retour à la maison|les résultats de la prise de sang|le régime sans sel""".split("|"),
        """le jour de votre admission|avant que vous quittiez l'hôpital|pendant la consultation
        |avec toute votre famille|dès que la fièvre a disparu""".split("|"),
    ),
    "de": (
        """Die Krankenschwester|Ihr behandelnder Arzt|Der Sozialdienst|Die Apothekerin|Der Chirurg""".split("|"),
        """erklärt Ihnen|bespricht mit Ihnen|überprüft noch einmal|organisiert""".split("|"),
        """den Ablauf der Operation|die Medikamente für die ersten Tage|den Termin für die Nachsorge
        |die Rückkehr nach Hause|die Ergebnisse der Blutuntersuchung""".split("|"),
        """am Tag Ihrer Aufnahme|bevor Sie das Krankenhaus verlassen|während der Sprechstunde
        |zusammen mit Ihrer Familie""".split("|"),
    ),
}


def prose(seed: object, sentences: int = 4, language: str = "nl") -> str:
    """Return sentences that no other seed has in this order."""
    random = Random(f"{language} {seed}")
    found = []
    for _ in range(sentences):
        parts = (random.choice(part).strip() for part in _PARTS[language])
        found.append(f"{' '.join(parts)}.")
    return " ".join(found)
