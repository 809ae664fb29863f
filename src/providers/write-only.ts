import { elements, kindOf, members, objectText } from '../json.ts'

// The blocks of `google` and `apple` are stored as given, but what is named like a secret or a key never comes back.

const WRITE_ONLY = /secret|password|token|key/i

/** A JSON text without the write-only members of its objects, at any depth. */
export function redact(text: string): string {
  switch (kindOf(text)) {
    case 'object': {
      const shown = [...members(text)].filter(([name]) => !WRITE_ONLY.test(name))
      return objectText(shown.map(([name, raw]) => [name, redact(raw)]))
    }
    case 'array':
      return `[${elements(text).map(redact).join(',')}]`
    default:
      return text
  }
}

/** A JSON text with the write-only members of the one that it replaces, wherever it does not give them anew. */
export function withKeptSecrets(text: string, replaced: string): string {
  const kind = kindOf(text)
  if (kind !== kindOf(replaced)) return text
  if (kind === 'array') {
    const before = elements(replaced)
    return `[${elements(text)
      .map((raw, index) => withKeptSecrets(raw, before[index] ?? 'null'))
      .join(',')}]`
  }
  if (kind !== 'object') return text
  const before = members(replaced)
  const merged = new Map(members(text))
  for (const [name, old] of before) {
    const raw = merged.get(name)
    const isKept = WRITE_ONLY.test(name) && (raw === undefined || raw === 'null')
    if (isKept) merged.set(name, old)
    else if (raw !== undefined) merged.set(name, withKeptSecrets(raw, old))
  }
  return objectText(merged)
}
