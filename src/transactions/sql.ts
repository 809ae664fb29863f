/**
 * A piece of SQL. Each value is next to the text that uses it, so that texts and parameters cannot disagree. A piece may
 * contain further pieces.
 */
export interface Sql {
  /** The texts around the parts: one more than there are parts. */
  readonly texts: readonly string[]
  /** Each is a further piece, or the value of a parameter. */
  readonly parts: readonly (Sql | string)[]
}

/** A piece of SQL from a template. Texts become parameters. */
export const sql = (texts: TemplateStringsArray, ...parts: readonly (Sql | string)[]): Sql => ({ texts, parts })

/** Pieces in their order, with this text between them. */
export function join(pieces: readonly Sql[], separator: string): Sql {
  const texts = Array<string>(pieces.length + 1).fill(separator)
  texts[0] = ''
  texts[pieces.length] = ''
  return { texts, parts: pieces }
}

/** A piece of SQL without values. */
export const plain = (text: string): Sql => ({ texts: [text], parts: [] })

/** The text of a statement, with its parameters numbered from $1, and their values. */
export function compose(piece: Sql): { text: string; values: string[] } {
  const values: string[] = []
  return { text: append('', piece, values), values }
}

function append(before: string, { texts, parts }: Sql, values: string[]): string {
  let text = before + texts[0]
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index] as Sql | string
    if (typeof part === 'string') text += `$${values.push(part)}`
    else text = append(text, part, values)
    text += texts[index + 1]
  }
  return text
}
