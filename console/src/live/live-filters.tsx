import { useQuery } from 'urql'
import { useSearchParams } from 'wouter'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { FilterField, FilterSelect, useFilters } from '../ui/filters.tsx'
import { SelectField } from '../ui/form.tsx'
import { CHOICE_NAMES, choiceOf, parametersOf } from './filters.ts'
import { liveScenariosQuery } from './operations.ts'
import { PlayerFilter } from './player-filter.tsx'

/** The filters of the events. The address of the page stores them. */
export function LiveFilters() {
  const environment = useEnvironment()
  const [{ data }] = useQuery({ query: liveScenariosQuery, variables: { environment } })
  const [search] = useSearchParams()
  const filters = useFilters()
  const choice = choiceOf(search)
  const scenario = filters.value('scenario')
  const scenarios = new Set((data?.scenarios.nodes ?? []).map(({ scenarioId }) => scenarioId))
  if (scenario !== '') scenarios.add(scenario)
  return (
    <search className="filters">
      <SelectField
        label="Show"
        name="show"
        value={choice}
        onChange={(value) => filters.change(parametersOf(value))}
        options={CHOICE_NAMES}
      />
      {choice === 'handles' && (
        <FilterField
          label="Handles"
          name="handle"
          placeholder="onWin, onLose"
          filters={filters}
          // The field stays when it is empty.
          onChange={(handle) => filters.change({ handle })}
        />
      )}
      <FilterSelect
        label="Scenario"
        name="scenario"
        filters={filters}
        options={[['', 'all scenarios'], ...scenarios]}
      />
      <PlayerFilter filters={filters} />
      {search.size > 0 && (
        <Button tone="quiet" onClick={() => filters.clear('type', 'handle', 'scenario', 'player')}>
          Clear filters
        </Button>
      )}
    </search>
  )
}
