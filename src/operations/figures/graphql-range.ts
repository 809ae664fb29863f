import { builder } from '../../declare/graphql/builder.ts'
import type { Dated, Range } from '../../declare/range.ts'

/** A type of figures of a range. Its first fields are the range, and when the figures were read. */
export function datedRef<T extends Dated>(name: string, rangeOf: (figures: T) => Range) {
  const type = builder.objectRef<T>(name)
  builder.objectFields(type, (t) => ({
    from: t.field({
      type: 'DateTime',
      description: 'The start of the range, included.',
      resolve: (figures) => rangeOf(figures as T).from,
    }),
    to: t.field({
      type: 'DateTime',
      description: 'The end of the range, not included.',
      resolve: (figures) => rangeOf(figures as T).to,
    }),
    asOf: t.field({ type: 'DateTime', resolve: (figures) => (figures as T).asOf }),
  }))
  return type
}
