import { useEffect, useState } from 'react'
import { useClient, useQuery } from 'urql'
import { useSearchParams } from 'wouter'
import { definitionQuery, scenariosQuery } from '../scenario/operations.ts'
import { readDefinition } from '../scenario/read-definition.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { withParameters } from '../ui/filters.tsx'
import { type Option, SelectField, TextField } from '../ui/form.tsx'
import { usePages } from '../ui/pages.ts'
import { toast } from '../ui/toast.tsx'
import { readFilters } from './filters.ts'

type Texts = Readonly<Record<string, string>>

/** The typed filters. They take effect with Enter, with Find, and when the field is left. */
const TYPED = ['search', 'provider', 'region', 'language', 'created', 'createdTo', 'seen', 'seenTo', 'from', 'to']
const OF_PASS = { pass: '', from: '', to: '', premium: '' }

export function PlayerFilters() {
  const environment = useEnvironment()
  const client = useClient()
  const [search, setSearch] = useSearchParams()
  const [texts, setTexts] = useState<Texts>({})
  const address = search.toString()
  // Back, a link and "Clear" change the address.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the parameters are new at each rendering
  useEffect(() => {
    setTexts(Object.fromEntries(TYPED.map((name) => [name, search.get(name) ?? ''])))
  }, [address])

  const value = (name: string) => search.get(name) ?? ''
  const filters = readFilters(search)
  const scenarioId = value('scenario')
  const scenarios = usePages({
    query: scenariosQuery,
    variables: { environment },
    connectionOf: (data) => data.scenarios,
  })
  const [{ data }] = useQuery({ query: definitionQuery, variables: { environment, scenarioId }, pause: !scenarioId })
  const passes = scenarioId ? readDefinition(data?.scenario?.definition).passes : []
  const hasPass = filters.nodeId !== undefined

  function set(changes: Texts): void {
    const trimmed = Object.entries(changes).map(([name, entered]) => [name, entered.trim() || null])
    const after = withParameters(search, Object.fromEntries(trimmed))
    if (after.toString() !== address) setSearch(after)
  }

  async function chooseScenario(scenario: string): Promise<void> {
    if (scenario === '') return set({ ...OF_PASS, scenario, sort: value('sort') === 'level' ? '' : value('sort') })
    const answer = await client.query(definitionQuery, { environment, scenarioId: scenario })
    const [first] = readDefinition(answer.data?.scenario?.definition).passes
    if (answer.error) toast('The scenario could not be read. Try again.', 'error')
    else if (!first) toast(`${scenario} has no battle pass.`, 'warning')
    else set({ ...OF_PASS, scenario, pass: first.id })
  }

  const field = (name: string, label: string, type = 'text', placeholder = '') => (
    <TextField
      label={label}
      name={name}
      type={type}
      placeholder={placeholder}
      value={texts[name] ?? ''}
      onChange={(entered) => {
        setTexts({ ...texts, [name]: entered })
        // The cross of a search field empties it.
        if (entered === '') set({ ...texts, [name]: '' })
      }}
    />
  )
  const choice = (name: string, label: string, options: readonly Option[]) => (
    <SelectField
      label={label}
      name={name}
      value={value(name)}
      onChange={(chosen) => set({ ...texts, [name]: chosen })}
      options={options}
    />
  )

  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          set(texts)
        }}
        onBlur={() => set(texts)}
      >
        <div className="filters">
          {field('search', 'Find', 'search', 'nickname, id or subject')}
          <Button type="submit" tone="primary">
            Find
          </Button>
          {choice('status', 'Status', [
            ['', 'all'],
            ['ACTIVE', 'active'],
            ['BANNED', 'banned'],
            ['DELETED', 'deleted'],
          ])}
          {field('region', 'Region', 'text', 'eu-west')}
          {field('language', 'Language', 'text', 'pt-BR')}
          {choice('sort', 'Sort', [
            ['', 'newest first'],
            ['oldest', 'oldest first'],
            ['login', 'last login first'],
            ...(hasPass ? [['level', 'highest level first'] as const] : []),
          ])}
        </div>
        <details
          className="more-filters"
          open={['scenario', 'seen', 'seenTo', 'created', 'createdTo', 'provider'].some((name) => search.has(name))}
        >
          <summary>By time, battle pass and provider</summary>
          <div className="filters">
            {field('created', 'Created from (UTC)', 'date')}
            {field('createdTo', 'Created until (UTC)', 'date')}
            {field('seen', 'Last login from (UTC)', 'date')}
            {field('seenTo', 'Last login until (UTC)', 'date')}
            <SelectField
              label="Scenario"
              name="scenario"
              value={scenarioId}
              onChange={(scenario) => void chooseScenario(scenario)}
              options={[
                ['', 'any'],
                ...new Set([...(scenarioId ? [scenarioId] : []), ...scenarios.rows.map((one) => one.scenarioId)]),
              ]}
            />
            {hasPass && (
              <>
                {passes.length > 1 &&
                  choice(
                    'pass',
                    'Pass',
                    passes.map(({ id }) => id),
                  )}
                {field('from', 'From level', 'number')}
                {field('to', 'To level', 'number')}
                {choice('premium', 'Premium', [
                  ['', 'with and without'],
                  ['yes', 'with premium'],
                  ['no', 'without premium'],
                ])}
              </>
            )}
            {filters.search !== undefined && field('provider', 'Subject of provider', 'search', 'custom')}
          </div>
        </details>
      </form>
    </search>
  )
}
