/**
 * A piece of SQL. Each value is next to the text that uses it, so that texts and parameters cannot disagree. A piece may
 * contain further pieces.
 */
export interface Sql {
  /** The texts around the parts: one more than there are parts. The same code gives the same array each time. */
  readonly texts: Texts
  /** Each is a further piece, or the value of a parameter. */
  readonly parts: readonly (Sql | string)[]
}

type Texts = readonly string[]

/** A piece of SQL from a template. Texts become parameters. */
export const sql = (texts: TemplateStringsArray, ...parts: readonly (Sql | string)[]): Sql => ({ texts, parts })

/** Pieces in their order, with this text between them. */
export function join(pieces: readonly Sql[], separator: string): Sql {
  const { length } = pieces
  const known = separators.get(separator) ?? []
  if (known.length === 0) separators.set(separator, known)
  known[length] ??= length === 0 ? [''] : ['', ...Array<string>(length - 1).fill(separator), '']
  return { texts: known[length], parts: pieces }
}

const separators = new Map<string, Texts[]>()

/** A piece of SQL without values. The text is one of the code's. */
export function plain(text: string): Sql {
  const known = plains.get(text)
  if (known) return known
  const piece = { texts: [text], parts: [] }
  plains.set(text, piece)
  return piece
}

const plains = new Map<string, Sql>()

/**
 * The form of a statement: its text, with its parameters numbered from $1. It is found by the arrays of texts that it is
 * made of, so that a text of thousands of characters is put together and hashed once, not with each group.
 */
export class Form {
  /** Under which connections prepare it. */
  name: string | undefined
  text = ''
  private readonly next = new Map<Texts, Form>()

  /** The form that continues with these texts, or with a value. */
  after(texts: Texts): Form {
    const known = this.next.get(texts)
    if (known) return known
    const form = new Form()
    if (forms < MAX_FORMS) this.next.set(texts, form)
    forms += 1
    return form
  }
}

/** Beyond it, forms are not kept. */
const MAX_FORMS = 20_000
let forms = 0
const START = new Form()
const VALUE: Texts = []

/** The form of a statement, and the values of its parameters. */
export function compose(piece: Sql): { form: Form; values: string[] } {
  const values: string[] = []
  const form = gather(START, piece, values)
  if (form.text === '') form.text = append('', piece, [])
  return { form, values }
}

function gather(start: Form, { texts, parts }: Sql, values: string[]): Form {
  let form = start.after(texts)
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index] as Sql | string
    if (typeof part === 'string') {
      values.push(part)
      form = form.after(VALUE)
    } else form = gather(form, part, values)
  }
  return form
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
