import { number, words } from '../ui/words.ts'
import css from './player.module.css'

export interface Attempt {
  readonly status: number | null
  readonly error: string | null
  readonly milliseconds: number
  readonly cause: string | null
  readonly excerpt: string | null
  readonly hint: string | null
}

/** Each call of a webhook: status or failure, time, and the beginning of its answer. */
export const Attempts = ({ of }: { of: readonly Attempt[] }) => (
  <ol className={css.attempts}>
    {of.map(({ status, error, milliseconds, cause, excerpt, hint }, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: attempts have no identity but their order, which is fixed
      <li key={index}>
        {status ?? 'no answer'}
        {error !== null && `, ${words(error)}`}, {number(milliseconds)} ms
        {excerpt !== null && (
          <>
            : <code>{excerpt}</code>
          </>
        )}
        {cause !== null && <div className="hint">{cause}</div>}
        {hint !== null && <div className="hint">{hint}</div>}
      </li>
    ))}
  </ol>
)
