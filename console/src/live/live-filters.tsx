import { useEffect, useState } from 'react'
import { useQuery } from 'urql'
import { useSearchParams } from 'wouter'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { SelectField, TextField } from '../ui/form.tsx'
import { CHOICE_NAMES, choiceOf, parametersOf } from './filters.ts'
import { liveScenariosQuery } from './operations.ts'

type Parameters = Readonly<Record<string, string | null>>

/** A text takes effect after this pause in typing. */
const PAUSE_MS = 300

/** The filters of the events. The address of the page stores them. */
export function LiveFilters() {
  const environment = useEnvironment()
  const [{ data }] = useQuery({ query: liveScenariosQuery, variables: { environment } })
  const [search, setSearch] = useSearchParams()
  const choice = choiceOf(search)
  const scenario = search.get('scenario') ?? ''
  const scenarios = new Set((data?.scenarios.nodes ?? []).map(({ scenarioId }) => scenarioId))
  if (scenario !== '') scenarios.add(scenario)

  const set = (parameters: Parameters) =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before)
        for (const [name, value] of Object.entries(parameters)) {
          if (value === null) after.delete(name)
          else after.set(name, value)
        }
        return after
      },
      { replace: true },
    )

  return (
    <search className="filters">
      <SelectField
        label="Show"
        name="show"
        value={choice}
        onChange={(value) => set(parametersOf(value))}
        options={CHOICE_NAMES}
      />
      {choice === 'handles' && (
        <TextFilter
          label="Handles"
          name="handle"
          placeholder="onWin, onLose"
          value={search.get('handle') ?? ''}
          onChange={(value) => set({ handle: value })}
        />
      )}
      <SelectField
        label="Scenario"
        name="scenario"
        value={scenario}
        onChange={(value) => set({ scenario: value || null })}
        options={[['', 'all scenarios'], ...[...scenarios].map((one) => [one, one] as const)]}
      />
      <TextFilter
        label="Player"
        name="player"
        placeholder="id of a player"
        value={search.get('player') ?? ''}
        onChange={(value) => set({ player: value || null })}
      />
      {search.size > 0 && (
        <Button tone="quiet" onClick={() => set({ type: null, handle: null, scenario: null, player: null })}>
          Clear filters
        </Button>
      )}
    </search>
  )
}

/** A text filter. The address changes once a person stops typing. */
function TextFilter(props: {
  readonly label: string
  readonly name: string
  readonly placeholder: string
  readonly value: string
  readonly onChange: (value: string) => void
}) {
  const { value, onChange, ...field } = props
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing starts the pause
  useEffect(() => {
    const typed = text.trim()
    if (typed === value) return
    const timer = setTimeout(() => onChange(typed), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return <TextField {...field} type="search" value={text} onChange={setText} />
}
