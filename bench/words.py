"""Ordinary English words, in no order of meaning: what people's memories are mostly made of."""

from __future__ import annotations

ENGLISH = tuple(
    """
    time people house water music friend school morning garden summer window letter market doctor
    river mountain kitchen brother sister mother father dinner coffee winter station ticket camera
    bridge animal flower village teacher student number money paper picture story song dance color
    yellow green orange purple silver golden heavy light quiet early later small large young little
    better healthy happy hungry tired angry careful simple famous strange modern ancient public
    private secret perfect broken clean empty bright narrow gentle honest serious curious friendly
    travel visit arrive leave return carry build paint write read cook drive walk swim climb teach
    learn study remember forget promise decide choose prepare finish begin repair invite answer
    explain follow gather borrow deliver measure collect discover improve protect describe order
    apple bread cheese butter sugar honey lemon tomato potato onion pepper salad soup chicken fish
    breakfast lunch restaurant recipe bakery bottle glass plate spoon knife basket pocket jacket
    sweater shirt shoes gloves umbrella blanket pillow mirror lamp candle carpet curtain chair table
    couch shelf drawer closet bathroom bedroom balcony basement roof fence gate path road street
    corner square city town country island beach ocean forest desert valley field farm barn horse
    sheep goat rabbit turtle parrot eagle spider butterfly kitten puppy tiger lion elephant monkey
    doctor nurse lawyer farmer baker painter singer dancer writer actor pilot sailor soldier
    engineer scientist manager neighbor cousin uncle aunt grandmother grandfather daughter husband
    wedding birthday holiday festival concert museum theater library hospital church office factory
    company project meeting report budget schedule deadline contract customer product service price
    bicycle engine train plane ship boat truck bus traffic journey vacation passport luggage hotel
    guitar piano violin drum trumpet melody rhythm poem novel chapter magazine newspaper article
    soccer tennis basketball baseball hockey running hiking camping fishing sailing skiing yoga
    medicine fever headache allergy exercise sleep dream memory thought idea opinion question reason
    problem solution mistake success failure danger safety courage patience kindness respect trust
    language grammar history science nature weather storm thunder rain snow cloud sunshine wind fire
    stone metal wood cotton leather plastic cloth thread needle hammer ladder bucket shovel rope
    computer keyboard screen printer battery cable network password message email phone video photo
    Monday Tuesday Thursday Saturday January April August October evening midnight weekend yesterday
    """.lower().split()
)
