import { useEffect, useState } from 'react'
import { useClient, useQuery } from 'urql'
import { useSearchParams } from 'wouter'
import { definitionQuery, scenariosQuery } from '../scenario/operations.ts'
import { readDefinition } from '../scenario/read-definition.ts'
import { segmentNamesQuery } from '../segments/operations.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { isEnter } from '../ui/enter.ts'
import { withParameters } from '../ui/filters.tsx'
import { SelectField, TextField } from '../ui/form.tsx'
import type { Option } from '../ui/option.ts'
import { usePages } from '../ui/pages.ts'
import { Notice } from '../ui/states.tsx'
import { toast } from '../ui/toast.tsx'
import { readFilters, timeFieldOf, unreadFilters } from './filters.ts'

type Texts = Readonly<Record<string, string>>

/** The typed filters. They take effect with Enter, with Find, and when the field is left. */
const TYPED = ['search', 'provider', 'region', 'language', 'created', 'createdTo', 'seen', 'seenTo', 'from', 'to']
/** Typed times, with the members of the filters: an address may have a day alone. */
const TIMES = { created: 'createdFrom', createdTo: 'createdTo', seen: 'lastLoginFrom', seenTo: 'lastLoginTo' } as const
const OF_PASS = { pass: '', from: '', to: '', premium: '' }

/**
 * The filters of the address. Those `withoutSearch` are for a segment or a grant: no search, no segment, no order, and
 * the fields may be in a form.
 */
export function PlayerFilters({ withoutSearch = false }: { withoutSearch?: boolean }) {
  const environment = useEnvironment()
  const client = useClient()
  const [search, setSearch] = useSearchParams()
  const [texts, setTexts] = useState<Texts>({})
  const address = search.toString()
  // Back, a link and "Clear" change the address.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the parameters are new at each rendering
  useEffect(() => {
    const times = Object.entries(TIMES).map(([name, member]) => [name, timeFieldOf(filters.filter[member])])
    setTexts({
      ...Object.fromEntries(TYPED.map((name) => [name, search.get(name) ?? ''])),
      ...Object.fromEntries(times),
    })
  }, [address])

  const value = (name: string) => search.get(name) ?? ''
  const filters = readFilters(search)
  const scenarioId = value('scenario')
  const [{ data: known }] = useQuery({ query: segmentNamesQuery, variables: { environment }, pause: withoutSearch })
  const segments = known?.segments.map(({ name }) => name) ?? []
  const scenarios = usePages({
    query: scenariosQuery,
    variables: { environment },
    connectionOf: (data) => data.scenarios,
  })
  const [{ data }] = useQuery({ query: definitionQuery, variables: { environment, scenarioId }, pause: !scenarioId })
  const passes = scenarioId ? readDefinition(data?.scenario?.definition).passes : []
  const hasPass = filters.filter.nodeId !== undefined

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
      {...(type === 'moment' ? { isMoment: true } : { type })}
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

  const segment = value('segment')
  const fields = (
    <>
      <div className="filters">
        {!withoutSearch && (
          <>
            {field('search', 'Find', 'search', 'nickname, id or subject')}
            <Button type="submit" tone="primary">
              Find
            </Button>
            {choice('segment', 'Segment', [['', 'any'], ...new Set([...(segment ? [segment] : []), ...segments])])}
          </>
        )}
        {choice('status', 'Status', [
          ['', 'all'],
          ['ACTIVE', 'active'],
          ['BANNED', 'banned'],
          ['DELETED', 'deleted'],
        ])}
        {field('region', 'Region', 'text', 'eu-west')}
        {field('language', 'Language', 'text', 'pt-BR')}
        {!withoutSearch &&
          choice('sort', 'Sort', [
            ['', 'newest first'],
            ['oldest', 'oldest first'],
            ['login', 'last login first'],
            ...(hasPass ? [['level', 'highest level first'] as const] : []),
          ])}
      </div>
      <details
        className="more-filters"
        open={
          withoutSearch ||
          ['scenario', 'seen', 'seenTo', 'created', 'createdTo', 'provider'].some((name) => search.has(name))
        }
      >
        <summary>{withoutSearch ? 'By time and battle pass' : 'By time, battle pass and provider'}</summary>
        <div className="filters">
          {field('created', 'Created from', 'moment')}
          {field('createdTo', 'Created before', 'moment')}
          {field('seen', 'Last login from', 'moment')}
          {field('seenTo', 'Last login before', 'moment')}
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
    </>
  )
  const unread = unreadFilters(search)
  const notice = unread.length > 0 && (
    <Notice tone="error">
      The address has what is no filter: {unread.join(', ')}. Nothing is given to this list.{' '}
      <Button
        onClick={() =>
          setSearch(withParameters(search, Object.fromEntries(unread.map((one) => [one.split('=', 1)[0] ?? '', null]))))
        }
      >
        Leave it out
      </Button>
    </Notice>
  )
  if (withoutSearch)
    return (
      <search
        onBlur={() => set(texts)}
        onKeyDown={(event) => {
          // The form around the filters is not sent.
          if (!isEnter(event)) return
          event.preventDefault()
          set(texts)
        }}
      >
        {notice}
        {fields}
      </search>
    )
  return (
    <search>
      {notice}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          set(texts)
        }}
        onBlur={() => set(texts)}
      >
        {fields}
      </form>
    </search>
  )
}
