import { type InputHTMLAttributes, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { sentence } from '../../ui/errors.ts'
import { toast } from '../../ui/toast.tsx'
import { useProblemsAt } from '../problems/use-problems.ts'

export interface DraftTextProps {
  /** The value in the draft. */
  readonly value: string
  /** The text in the form of the draft. Undefined for an invalid text. */
  readonly normalise: (text: string) => string | undefined
  readonly onChange: (text: string) => void
}

/**
 * The text of a field while a person types. A valid text goes into the draft at once. An invalid one stays in the field
 * until it is valid, or until Escape. If the person leaves the page before, a message says that the text is lost.
 */
export function useDraftText({ value, normalise, onChange }: DraftTextProps) {
  const [typed, setTyped] = useState<string | null>(null)
  const normal = typed === null ? undefined : normalise(typed)
  const isUnfit = typed !== null && normal === undefined && typed !== value
  const lost = useRef<string | null>(null)
  lost.current = isUnfit ? typed : null
  useEffect(
    () => () => {
      if (lost.current) toast(`“${lost.current}” was not taken over, as it could not be read.`, 'warning')
    },
    [],
  )
  const shown = typed !== null && (isUnfit || normal === value) ? typed : value
  return {
    isUnfit,
    input: {
      value: shown,
      // The browser undoes text that is not in the draft yet; the draft undoes everything else.
      'data-is-unfit': isUnfit || undefined,
      onChange(event: { readonly target: { readonly value: string } }) {
        const text = event.target.value
        setTyped(text)
        const next = normalise(text)
        if (next !== undefined && next !== value) onChange(next)
      },
      onBlur() {
        if (!isUnfit) setTyped(null)
      },
    },
    reset: () => setTyped(null),
  }
}

/** A field of the draft, with the problems at its place. */
export function DraftField({
  label,
  hint,
  fault,
  place = '',
  suggestions,
  value,
  normalise,
  onChange,
  ...input
}: DraftTextProps & {
  readonly label: string
  readonly hint?: ReactNode
  /** The message for an invalid text. */
  readonly fault?: string
  /** The path of the value, as the service writes it. */
  readonly place?: string
  readonly suggestions?: readonly string[]
} & Pick<InputHTMLAttributes<HTMLInputElement>, 'inputMode' | 'placeholder' | 'type' | 'step' | 'readOnly'>) {
  const id = useId()
  const text = useDraftText({ value, normalise, onChange })
  const problems = useProblemsAt(place).filter(({ kind }) => kind === 'fault')
  const faults = text.isUnfit ? [fault ?? 'This value is not valid.'] : problems.map((one) => sentence(one.message))
  const described = [hint && `${id}-hint`, faults.length > 0 && `${id}-fault`].filter(Boolean).join(' ')
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        {...input}
        {...text.input}
        list={suggestions && `${id}-list`}
        aria-invalid={faults.length > 0 || undefined}
        aria-describedby={described || undefined}
        onKeyDown={(event) => {
          if (event.key === 'Escape') text.reset()
        }}
      />
      {suggestions && (
        <datalist id={`${id}-list`}>
          {suggestions.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
      {hint && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {faults.length > 0 && (
        <p className="fault" id={`${id}-fault`}>
          {faults.join(' ')}
        </p>
      )}
    </div>
  )
}

/** For fields that accept any text. */
export const anyText = (text: string): string => text
export const someText = (text: string): string | undefined => (text === '' ? undefined : text)
export const integerText = (text: string): string | undefined => (/^(0|[1-9]\d*)$/.test(text) ? text : undefined)
