import { type ComponentProps, useEffect, useRef, useState } from 'react'
import { sentence } from '../../ui/errors.ts'
import { TextField } from '../../ui/form.tsx'
import { toast } from '../../ui/toast.tsx'
import { useProblemsAt } from '../problems/use-problems.ts'

export interface DraftTextProps {
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
      onChange(text: string) {
        setTyped(text)
        const next = normalise(text)
        if (next !== undefined && next !== value) onChange(next)
      },
      onBlur() {
        if (!isUnfit) setTyped(null)
      },
      onKeyDown(event: { readonly key: string }) {
        if (event.key === 'Escape') setTyped(null)
      },
    },
  }
}

export function DraftField({
  fault,
  place = '',
  value,
  normalise,
  onChange,
  ...field
}: DraftTextProps & {
  /** The message for an invalid text. */
  readonly fault?: string
  /** The path of the value, as the service writes it. */
  readonly place?: string
} & Omit<ComponentProps<typeof TextField>, 'faults' | 'value' | 'onChange'>) {
  const text = useDraftText({ value, normalise, onChange })
  const problems = useProblemsAt(place).filter(({ kind }) => kind === 'fault')
  const faults = text.isUnfit ? [fault ?? 'This value is not valid.'] : problems.map((one) => sentence(one.message))
  return <TextField {...field} {...text.input} faults={faults} />
}

/** For fields that accept any text. */
export const anyText = (text: string): string => text
export const someText = (text: string): string | undefined => (text === '' ? undefined : text)
export const integerText = (text: string): string | undefined => (/^(0|[1-9]\d*)$/.test(text) ? text : undefined)
