// Blanks that nobody means: a name with a space at its end looks like another name, and is another one.
//
// The rule: a text that the contract allows is taken as it is, and the answer of the call that sets it has a notice. So
// nothing that works today is refused, and the mistake is seen where it is made.

/** Why a text looks as if it had a blank by accident; undefined when it does not. A secret is not shown. */
export function blankNotice(text: string, what: string = JSON.stringify(text.slice(0, 64))): string | undefined {
  if (text.trim() === text) return undefined
  if (text.trim() === '') return `has nothing but white space: ${what}`
  const where = text.trimStart() === text ? 'ends' : text.trimEnd() === text ? 'begins' : 'begins and ends'
  return `${where} with white space, which counts: ${what}`
}

/** The notice of a member that an object has more than once. */
export const REPEATED = 'is repeated: only the last of several members with the same name counts'
