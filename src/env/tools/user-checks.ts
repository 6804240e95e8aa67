// Checks of simulated users, without a model: they may not leave early, repeat themselves, invent facts, recite
// their instructions, speak as the agent or evade a question. In doubt a check passes, so that natural behaviour is not refused.

import { type SpokenMessage, spokenMessages } from './message.js';
import type { UserQuery, UserTurn } from './tools-family.js';

/** Maximum length of a turn. */
const MAX_CHARS = 4_000;

interface Spoken {
  /** The current message. */
  readonly content: string;
  readonly done: boolean;
  readonly goal: string;
  /** Everything that the user may know: persona, goal and conversation. */
  readonly known: string;
  /** Earlier messages of the user, oldest first. */
  readonly before: readonly string[];
  /** Messages of the agent, oldest first. */
  readonly heard: readonly string[];
}

/**
 * Why a simulated user may not send this message: `NAME: sentence`; undefined if it may.
 * @param isHard whether the user is to be difficult: it may leave questions open
 */
export function userFault(
  query: UserQuery,
  turn: Pick<UserTurn, 'content' | 'done'>,
  isHard = false,
): string | undefined {
  const { goal, persona = '', opening = '', script = [] } = query.task.user;
  const spoken = spokenMessages(query.messages);
  const said = (role: SpokenMessage['role']) => spoken.flatMap((one) => (one.role === role ? [one.content] : []));
  const heard = said('assistant');
  const own = query.messages.flatMap((message) => (message.role === 'user' ? (message.calls ?? []) : []));
  const found = [...own, ...(query.calls ?? [])].map(({ answer }) => answer);
  const dictated = quotedIn(goal);
  const content = dictated.reduce((text, phrase) => text.replaceAll(phrase, ' '), turn.content).trim();
  const before = said('user');
  // The lines of a script are known to the user.
  const lines = script.map(({ say }) => say);
  const known = [goal, persona, opening, ...lines, ...before, ...heard, ...found].join('\n');
  const one: Spoken = { goal, heard, before, done: turn.done, content, known };
  // Quotations from the goal are allowed.
  if (content === '' && turn.content.trim() !== '') return undefined;
  for (const [name, check] of Object.entries(CHECKS)) {
    const problem = isHard && check === evasion ? undefined : check(one);
    if (problem !== undefined) return `${name}: ${problem}`;
  }
  return undefined;
}

const CHECKS: Readonly<Record<string, (spoken: Spoken) => string | undefined>> = {
  'says nothing': silence,
  'gives its goal away': recital,
  'speaks as the agent': wrongRole,
  'repeats itself': repetition,
  'makes something up': invention,
  'ends early': earlyEnd,
  'answers nothing': evasion,
};

/** Texts in quotation marks: sentences that the goal dictates. */
function quotedIn(goal: string): string[] {
  const found = [...goal.matchAll(/"([^"]{12,})"|(?<=^|[\s(:])'((?:[^']|(?<=\w)'(?=\w)){12,})'(?=[\s.,;:!?)]|$)/g)];
  return found.map(([, double, single]) => (double ?? single).trim());
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
const shortened = (text: string) => (text.length > 60 ? `${text.slice(0, 57)}...` : text);

function silence({ content, done }: Spoken): string | undefined {
  if (content.length > MAX_CHARS) return `content has ${content.length} characters; a user says at most ${MAX_CHARS}.`;
  return done || /[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(content) ? undefined : 'content is empty.';
}

/** Goals with this many words are confidential; this many consecutive words of them, or half of the goal, are a quotation. */
const HIDDEN_WORDS = 25;
const QUOTED_WORDS = 15;
/** This many consecutive words that address the user ("you want to") are its instruction. */
const ADDRESSED_WORDS = 6;
/** A goal of this length must not be disclosed to this share in one message. */
const LONG_GOAL = 40;
const WHOLE = 0.7;
const META =
  /\b(?:my (?:hidden )?(?:goal|instructions?|persona|scenario|system prompt) (?:is|are|says?|tells?)|(?:i (?:was|am|'m)|i've been) (?:instructed|told by my instructions|playing (?:the )?role)|as (?:a|the) simulated user|simulat(?:ed|ing) (?:a |the )?user|according to my (?:goal|instructions|persona|scenario)|as an ai\b|language model|developer instructions|my next (?:input|message|turn) should)/i;

function recital({ content, goal }: Spoken): string | undefined {
  const meta = META.exec(content);
  if (meta !== null) return `content speaks of "${meta[0]}"; a user has no instructions.`;
  const [hidden, said] = [wordsOf(goal), wordsOf(content)];
  const text = ` ${said.join(' ')} `;
  const rows = (words: readonly string[], size: number) =>
    Array.from({ length: Math.max(0, words.length - size + 1) }, (_, i) => words.slice(i, i + size));
  const isSaid = (row: readonly string[]) => text.includes(` ${row.join(' ')} `);
  const problem = 'content quotes the goal. Say one thing at a time, in words of your own.';
  const isAddressed = (row: readonly string[]) => /^(?:you|your)$/.test(row[0]) && row.length === ADDRESSED_WORDS;
  if (rows(hidden, ADDRESSED_WORDS).some((row) => isAddressed(row) && isSaid(row))) return problem;
  const run = Math.max(QUOTED_WORDS, Math.floor(hidden.length / 2));
  if (hidden.length >= HIDDEN_WORDS && rows(hidden, run).some(isSaid)) return problem;
  if (hidden.length < LONG_GOAL) return undefined;
  const asUser = (words: readonly string[]) => words.map((word) => FIRST_PERSON[word] ?? word);
  const quoted = new Set(rows(asUser(said), 3).map(String));
  const all = rows(asUser(hidden), 3).map(String);
  return all.filter((row) => quoted.has(row)).length >= WHOLE * all.length
    ? 'content tells the whole goal at once. Say one thing at a time.'
    : undefined;
}

const FIRST_PERSON: Readonly<Record<string, string>> = {
  ...{ you: 'i', your: 'my', yours: 'mine', yourself: 'myself', are: 'am', me: 'i' },
};

/** Phrases of an agent that a user does not say. */
const AGENT_WORDS = [
  /\b(?:to (?:assist|help) you|i can (?:assist|help) you|provide the following|i(?:'ll| will)? need (?:your|the following)|if you need (?:any )?further assistance|feel free to (?:ask|let me know)|please let me know if you(?:'d| would) like)\b/i,
  /\b(?:how (?:can|may) i (?:help|assist)|is there anything else i can (?:help|assist|do))\b/i,
  /\bi(?:'d| would)? be (?:happy|glad) to (?:help|assist)\b/i,
  /\b(?:thank you|thanks) for (?:contacting|reaching out|calling)\b/i,
  /\b(?:could|can|would|will) you (?:please )?(?:provide|share|give me|tell me|confirm) (?:me )?(?:with )?your\b/i,
  /\bplease (?:provide|share|give me|confirm) (?:me )?(?:with )?your\b/i,
  /\b(?:i(?:'ve| have)|i'll|i will|let me) (?:now |just |successfully |go ahead and )*(?:look(?:ed)? up|process(?:ed)?|cancel(?:l?ed)?|update[d]?|transfer(?:red)?|issue[d]?) (?:your|you)\b/i,
  /\byour (?:[\w#-]+ ){1,4}(?:has|have) (?:now )?been (?:successfully )?(?:processed|cancell?ed|updated|booked|changed|modified|exchanged|returned|refunded|unlocked|created)\b/i,
];

function wrongRole({ content }: Spoken): string | undefined {
  const [words] = AGENT_WORDS.flatMap((pattern) => pattern.exec(content)?.[0] ?? []);
  return words === undefined ? undefined : `"${words}" is what the agent says. You are the user.`;
}

/** Shorter messages may be repeated. */
const WORDS_TO_REPEAT = 5;
const SAME = 0.9;
const AGREED =
  /^\W*(?:yes|yeah|yep|sure|ok(?:ay)?|correct|that's (?:right|correct)|please (?:do|proceed|go ahead)|no|none|thank|i confirm|confirmed)\b/i;
const ASKED_AGAIN =
  /\b(?:repeat|rephrase|say (?:that|it) again|once more)\b|\bdid(?:n't| not) (?:quite )?(?:catch|understand|receive|get)\b/i;
const REFUSES = /\b(?:cannot|can't|unable|not (?:possible|allowed|eligible|able|available)|unfortunately|sorry)\b/i;

function repetition({ content, before, heard, goal }: Spoken): string | undefined {
  const said = wordsOf(content);
  if (said.length < WORDS_TO_REPEAT || AGREED.test(content)) return undefined;
  const last = heard.at(-1) ?? '';
  // A repeated question, or a goal that demands insistence, justifies a repeated answer.
  const isAskedAgain =
    ASKED_AGAIN.test(last) || heard.slice(0, -1).some((one) => alike(wordsOf(one), wordsOf(last)) >= SAME);
  const insists = /\b(?:insist|repeat|persist|keep (?:asking|saying)|always (?:say|end|begin|start))/i.test(goal);
  if (isAskedAgain || (insists && REFUSES.test(last))) return undefined;
  const at = before.findIndex((one) => alike(wordsOf(one), said) >= SAME);
  if (at < 0) return undefined;
  return `"${shortened(content)}" was said already (message ${at + 1}). Answer what the agent said last.`;
}

/** Share of words that two texts have in common. */
function alike(a: readonly string[], b: readonly string[]): number {
  const [one, other] = [new Set(a), new Set(b)];
  const common = [...one].filter((word) => other.has(word)).length;
  return common / Math.max(1, one.size + other.size - common);
}

const EMAIL = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;
/** Letters and digits together, or words joined by "_"; or five digits and more. */
const ID =
  /#?\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*\b|\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b|#?\b\d{5,}\b/g;
/** A code in capitals after a word such as "code". */
const CODE =
  /\b(?:reservation|booking|order|confirmation|ticket|reference|code|number|id)\b(?:\s+(?:id|code|number|is|:|was))*\W{1,3}([A-Z]{5,8})\b/g;
/** Counts, times, sizes and ranks that look like ids. */
const NO_ID =
  /^(?:\d+(?:st|nd|rd|th|am|pm|est|pst|cst|utc|gmt|gb|tb|mb|kg|g|lbs?|oz|cm|mm|m|km|inch|in|ft|l|ml|w|k|x|s|h|hrs?|min|days?|pcs?|ghz|hz|mp|p|d|c)|[a-z]+-\d{1,2}|\d{1,2}-[a-z-]+)$/i;
const MONEY =
  /(?:[$€£]\s?|\b(?:usd|eur)\s?)(\d[\d,]*(?:\.\d+)?)|\b(\d[\d,]*(?:\.\d+)?)\s?(?:dollars|euros|usd|eur)\b/gi;
const MONTHS =
  'jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?';
const DATE = new RegExp(
  `\\b(?:${MONTHS})\\.? (\\d{1,2})(?:st|nd|rd|th)?\\b|\\b(\\d{1,2})(?:st|nd|rd|th)? (?:of )?(?:${MONTHS})\\b|\\b\\d{4}-\\d{2}-(\\d{2})\\b`,
  'gi',
);
const NAME =
  /\b(?:[Mm]y (?:full |first |last )?name is|[Mm]y name's|[Tt]his is|I am|[Ii]'m)\s+([A-Z][a-z]+(?:\s+[A-Z][a-z]+)*)/g;
const NO_NAME =
  /^(?:The|That|This|It|My|An?|Not|In|On|At|So|Just|Very|Sorry|Looking|Trying|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)$/;

function invention({ content, known }: Spoken): string | undefined {
  const text = known.toLowerCase();
  const parts = new Set(text.match(/[\p{L}]+|\d+/gu) ?? []);
  const numbers = numbersIn(known);
  const squeezed = text.replace(/[^\p{L}\p{N}]/gu, '');
  const isKnown = (id: string) => squeezed.includes(id.toLowerCase().replace(/[^\p{L}\p{N}]/gu, ''));
  const all = (pattern: RegExp) =>
    [...content.matchAll(pattern)].map(([whole, ...groups]) => groups.find(Boolean) ?? whole);
  const plain = content.replace(EMAIL, ' ');
  const dates = [...plain.matchAll(DATE)];
  const undated = plain.replace(DATE, ' ');
  const ids = [...undated.matchAll(ID)].map(([id]) => id).filter((id) => !NO_ID.test(id));
  const stray = [...all(EMAIL), ...ids, ...all(CODE)].find((id) => !isKnown(id));
  if (stray !== undefined) return `"${stray}" is neither in Goal nor was it said. Say that you do not know it.`;
  const money = [...undated.matchAll(MONEY)].map(([, a, b]) => Number((a ?? b).replaceAll(',', '')));
  const amount = money.find((value) => !numbers.has(value) && !isSum(value, numbers));
  if (amount !== undefined) return `the amount ${amount} is neither in Goal nor was it said.`;
  const date = dates.find(([, ...days]) => !numbers.has(Number(days.find(Boolean))));
  if (date !== undefined) return `the date "${date[0]}" is neither in Goal nor was it said.`;
  const name = all(NAME)
    .flatMap((full) => full.split(/\s+/))
    .filter((word) => !NO_NAME.test(word));
  const alien = name.find((word) => !parts.has(word.toLowerCase()));
  return alien === undefined ? undefined : `the name "${alien}" is neither in Goal nor was it said.`;
}

function numbersIn(text: string): Set<number> {
  const written = text.replace(/(?<=\d),(?=\d{3})/g, '').match(/\d+(?:\.\d+)?/g) ?? [];
  return new Set(written.map(Number));
}

/** Users may add or subtract known amounts. */
function isSum(value: number, numbers: ReadonlySet<number>): boolean {
  const near = [...numbers];
  const isNumber = (wanted: number) => near.some((one) => Math.abs(one - wanted) < 0.005);
  return near.some((one) => isNumber(value - one) || isNumber(value + one)) || isNumber(Math.round(value));
}

/** Closing questions of an agent, which need no answer. */
const CLOSING =
  /\b(?:anything else|something else|further (?:questions?|assistance|help)|else i can|need (?:any )?(?:more|other|additional) (?:help|assistance)|have a (?:great|nice|good|wonderful)|other questions?|feel free|don't hesitate)\b/i;
const ASKS =
  /\b(?:please (?:provide|share|confirm|let me know|tell|specify|choose|reply|give|verify|select|type)|could you|can you|would you|do you|did you|shall i|should i|may i have|i(?:'ll| will)? need your|let me know (?:if|which|how|what|whether))\b/i;
const PROMISES =
  /\b(?:one moment|just a moment|hold on|please wait|bear with me|let me (?:check|look|pull|retrieve|verify|see|find|process)|i(?:'ll| will) (?:now )?(?:check|look|proceed|process|cancel|update|book|retrieve|verify|go ahead|start|initiate|change|exchange|return))\b/i;
const DECLINES =
  /\b(?:no|never ?mind|forget it|not (?:now|necessary|needed|interested)|don't (?:want|need|bother)|another time|in that case|no need)\b/i;
/** Farewells: they may follow an offer, not a question that the agent needs answered. */
const LEAVES =
  /\b(?:that(?:'s| is|'ll be| will be) all|i(?:'ll| will) (?:think|call|contact|get back|try|leave|keep))\b/i;
const AGREES =
  /\b(?:yes|yeah|sure|ok(?:ay)?|go ahead|please (?:do|proceed)|do (?:it|that|so)|i confirm|sounds good|that works)\b/i;

function earlyEnd({ content, done, heard }: Spoken): string | undefined {
  if (!done) return undefined;
  const last = heard.at(-1);
  if (last === undefined) return 'done is true before the agent said anything.';
  const request = openRequest(last);
  const promise = PROMISES.exec(last.split('\n').at(-1)!)?.[0];
  if (request === undefined && promise === undefined) return undefined;
  const isNeeded = request !== undefined && Object.values(ITEMS).some((item) => item.test(request));
  const declines = DECLINES.test(content) || (!isNeeded && LEAVES.test(content));
  if (declines && (/^\W*no\b/i.test(content) || !AGREES.test(content))) return undefined;
  const open = request === undefined ? `promised something ("${promise}")` : `asked "${shortened(request)}"`;
  return `done is true although the agent just ${open} and nothing came of it yet.`;
}

/** The agent's open question, except closing questions. */
function openRequest(text: string): string | undefined {
  const sentences = text.split(/(?<=[.!?])\s+|\n+/).filter((sentence) => /\p{L}/u.test(sentence));
  const asked = sentences.filter(
    (sentence) => (sentence.includes('?') || ASKS.test(sentence)) && !CLOSING.test(sentence),
  );
  return CLOSING.test(sentences.at(-1) ?? '') ? undefined : asked.at(-1)?.trim();
}

/** Items that an agent may ask for, with the words users have for them. */
const ITEMS: Readonly<Record<string, RegExp>> = {
  ...{ 'user id': /\buser id\b/i, email: /\be-?mail\b/i, 'zip code': /\b(?:zip|postal) ?code\b/i, phone: /\bphone\b/i },
  ...{
    'order number': /\border (?:id|number)\b/i,
    'employee number': /\bemployee (?:id|number)\b/i,
    badge: /\bbadge\b/i,
  },
  ...{ reservation: /\b(?:reservation|booking|confirmation) (?:id|code|number)\b/i },
  ...{ 'date of birth': /\b(?:date of birth|birthday)\b/i },
};
const UNKNOWN =
  /\b(?:don't|do not|can't|cannot|didn't|not sure|no idea|forgot|lost|remember|prefer not|rather not|unfortunately|afraid|without|instead|not have)\b/i;
const COMMON = new Set(
  (
    'about after again also been before could from have help into just like more need other please some sure thank thanks that their them then there ' +
    'they this want what when where which will with would your yours'
  ).split(' '),
);

/** The answer has another item than the question, or is unrelated to the conversation. */
function evasion({ content, done, heard, goal, before }: Spoken): string | undefined {
  const last = heard.at(-1);
  if (done || last === undefined || UNKNOWN.test(content) || content.includes('?')) return undefined;
  const request = openRequest(last);
  if (request === undefined) return undefined;
  const named = (text: string) => Object.keys(ITEMS).filter((item) => ITEMS[item].test(text));
  const [asked, given] = [named(last), named(content)];
  const isOther = asked.length === 1 && given.length > 0 && !given.includes(asked[0]) && /\d|@/.test(content);
  if (isOther && before.some((one) => given.some((item) => ITEMS[item].test(one))))
    return `the agent asked for the ${asked[0]}; the ${given[0]} was told before.`;
  const content4 = (text: string) => wordsOf(text).filter((word) => word.length > 3 && !COMMON.has(word));
  const about = new Set([...content4(last), ...content4(goal), ...before.flatMap(content4)]);
  const said = content4(content);
  const isRelated = said.some(
    (word) => about.has(word) || [...about].some((one) => one.slice(0, 5) === word.slice(0, 5)),
  );
  if (said.length < 3 || isRelated || /\d/.test(content) || AGREES.test(content) || DECLINES.test(content))
    return undefined;
  return `the agent asked "${shortened(request)}", and this answers something else.`;
}
