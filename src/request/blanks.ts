// Blanks that nobody means: a name with a space at its end looks like another name, and is another one.
//
// The rule: a text that an operator writes and the service compares later (a secret) is refused with such a blank. A
// text that the contract allows (the subject of a webhook, ids and currencies of a definition) is taken as it is, and
// the answer has a notice.

/** Why a text looks as if it had a blank by accident; undefined when it does not. */
export function blankNotice(text: string): string | undefined {
  if (text.trim() === text) return undefined
  if (text.trim() === '') return 'has nothing but white space'
  const where = text.trimStart() === text ? 'ends' : text.trimEnd() === text ? 'begins' : 'begins and ends'
  return `${where} with white space, which counts: ${JSON.stringify(text.slice(0, 64))}`
}

/** The notice of a member that an object has more than once. */
export const REPEATED = 'is repeated: only the last of several members with the same name counts'
