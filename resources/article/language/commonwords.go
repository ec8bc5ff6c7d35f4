package language

import "strings"

// common has words, besides stop words, that occur in texts on any subject: numbers,
// times, and the most common nouns, verbs and adjectives. They count little. In a large
// network their rarity shows that, but not in a small one.
var common = map[string]string{
	"da": `en to tre fire fem seks syv otte ni ti hundrede tusind million første anden tredje sidste næste ny gammel ung stor lille
		god bedre bedst lang kort høj lav år måned uge dag time minut tid gang i dag gange menneske folk mand kvinde barn del sted land
		verden by sige sagde gå få give tage komme se gøre finde ønske vise tro flere mange få mest mindre allerede kun også`,
	"de": `ein zwei drei vier fünf sechs sieben acht neun zehn hundert tausend million erste zweite dritte letzte nächste neu alt jung groß klein
		gut besser beste lang kurz hoch niedrig jahr monat woche tag stunde minute zeit mal heute gestern morgen mensch leute mann frau kind
		teil ort land welt stadt sagen sagte gehen geben nehmen kommen sehen machen finden zeigen glauben bleiben stehen mehr viele wenig meist
		schon noch wieder immer etwa rund seit wegen laut`,
	"en": `one two three four five six seven eight nine ten hundred thousand million first second third last next new old young big large small
		good better best long short high low year month week day hour minute time today yesterday tomorrow people man men woman women child
		part place country world town city say said says go went get give take come see make made find show think know want use
		many much more most less least every another around among still already also ago since until`,
	"es": `uno una dos tres cuatro cinco seis siete ocho nueve diez cien ciento mil millón millones primero segundo tercero último próximo nuevo viejo joven grande
		gran pequeño bueno buen mejor largo corto alto bajo año mes semana día hora minuto tiempo vez veces hoy ayer mañana gente persona
		hombre mujer niño parte lugar país mundo ciudad decir dice dijo ir dar tomar venir ver hacer hace hizo encontrar mostrar creer
		poder deber mucho más menos cada entre según ya aún también`,
	"fi": `yksi kaksi kolme neljä viisi kuusi seitsemän kahdeksan yhdeksän kymmenen sata tuhat miljoona ensimmäinen toinen kolmas viimeinen uusi
		vanha nuori suuri iso pieni hyvä parempi paras pitkä lyhyt vuosi kuukausi viikko päivä tunti minuutti aika kerta tänään eilen
		ihminen mies nainen lapsi osa paikka maa maailma kaupunki sanoa mennä antaa ottaa tulla nähdä tehdä löytää moni enemmän vähemmän`,
	"fr": `un une deux trois quatre cinq six sept huit neuf dix cent mille million millions premier première deuxième troisième dernier prochain
		nouveau nouvelle vieux jeune grand petit bon bonne meilleur long court haut bas an année mois semaine jour journée heure minute temps fois
		aujourd'hui hier demain gens personne homme femme enfant partie lieu pays monde ville dire dit aller donner prendre venir voir faire fait trouver
		montrer croire pouvoir peut devoir doit beaucoup plus moins chaque entre selon déjà encore aussi depuis quel quelle`,
	"it": `uno due tre quattro cinque sei sette otto nove dieci cento mille mila milione milioni primo secondo terzo ultimo prossimo nuovo vecchio
		giovane grande piccolo buono migliore lungo corto alto basso anno mese settimana giorno ora minuto tempo volta volte oggi ieri domani
		gente persona uomo donna bambino parte luogo paese mondo città dire dice detto andare dare prendere venire vedere fare fatto
		trovare mostrare credere potere può dovere deve molto più meno ogni fra secondo già ancora anche`,
	"nl": `een twee drie vier vijf zes zeven acht negen tien honderd duizend miljoen eerste tweede derde laatste volgende nieuw oud jong groot
		klein goed beter beste lang kort hoog laag jaar maand week dag uur minuut tijd keer vandaag gisteren morgen mens mensen man
		vrouw kind deel plaats land wereld stad zeggen zegt zei gaan geven nemen komen zien maken vinden tonen geloven veel meer minder elk nog al`,
	"no": `en ett to tre fire fem seks sju åtte ni ti hundre tusen million millioner første andre tredje siste neste ny nye nytt gammel gamle ung unge
		stor små liten god gode bedre best lang kort høy lav år måned uke dag time minutt tid gang ganger i dag går morgen menneske folk mann menn kvinne barn
		del sted land verden by si sier sa gå gikk få fikk gi ga ta tok komme kom se så gjøre finne vise tro mange flere mest mindre hver blant
		allerede fortsatt også`,
	"pl": `jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć sto tysiąc milion pierwszy drugi trzeci ostatni następny nowy stary młody
		duży wielki mały dobry lepszy najlepszy długi krótki wysoki niski rok lata miesiąc tydzień dzień godzina minuta czas raz dzisiaj wczoraj jutro
		człowiek ludzie mężczyzna kobieta dziecko część miejsce kraj świat miasto mówić powiedzieć iść dać wziąć przyjść widzieć robić znaleźć wiele więcej mniej każdy`,
	"pt": `um uma dois duas três quatro cinco seis sete oito nove dez cem mil milhão milhões primeiro segundo terceiro último próximo novo velho
		jovem grande pequeno bom boa melhor longo curto alto baixo ano mês semana dia hora minuto tempo vez vezes hoje ontem amanhã gente pessoa
		homem mulher criança parte lugar país mundo cidade dizer disse ir dar tomar vir ver fazer feito encontrar mostrar poder dever muito mais menos cada entre já ainda também`,
	"ru": `один два две три четыре пять шесть семь восемь девять десять сто тысяча миллион первый второй третий последний следующий новый старый молодой
		большой маленький хороший лучший длинный короткий высокий низкий год лет месяц неделя день час минута время раз сегодня вчера завтра
		человек люди мужчина женщина ребёнок дети часть место страна мир город сказать говорить идти дать взять прийти видеть делать найти много больше меньше каждый
		который это весь самый свой мочь стать`,
	"sv": `en ett två tre fyra fem sex sju åtta nio tio hundra tusen miljon miljoner första andra tredje sista nästa ny nya nytt gammal gamla ung unga
		stor stora liten små god bra bättre bäst lång kort hög låg år månad vecka dag timme minut tid gång i dag går morgon människa folk man kvinna barn
		del plats land värld stad säga säger sade gå få fick ge ta komma kom se göra hitta visa tro många fler flera mest mindre varje bland redan ännu också`,
}

// commonTerms returns the terms of common words.
func (a *Analyzer) commonTerms(words string) map[string]bool {
	terms := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		for _, term := range a.Terms([]byte(word)) {
			terms[term] = true
		}
	}
	return terms
}
