import { useMemo } from 'react'
import { useQuery } from 'urql'
import type { Json } from '../../graphql.ts'
import { useDenial } from '../../session/permission.tsx'
import { publicationsQuery } from '../operations.ts'

export interface Publication {
  readonly auditId: string
  readonly who: string
  readonly reason: string | null
}

const context = { additionalTypenames: ['ScenarioVersion', 'AuditLogEntry'] }

/** The publisher of each version, for roles that may read the audit log. */
export function usePublications(environment: string, scenarioId: string): ReadonlyMap<number, Publication> {
  const denial = useDenial('manage')
  const [{ data }] = useQuery({
    query: publicationsQuery,
    variables: { environment, scenarioId },
    pause: denial !== undefined,
    requestPolicy: 'cache-and-network',
    context,
  })
  return useMemo(() => {
    const byVersion = new Map<number, Publication>()
    for (const { id, operator, actorLabel, reason, action, after } of data?.auditLog?.nodes ?? []) {
      const version = versionOf(after)
      if (!/^scenario\.(publish|clone)$/.test(action) || version === undefined) continue
      byVersion.set(version, { auditId: id, who: operator ?? actorLabel ?? 'a platform key', reason })
    }
    return byVersion
  }, [data])
}

function versionOf(after: Json): number | undefined {
  const version = after !== null && typeof after === 'object' && 'version' in after ? after.version : undefined
  return typeof version === 'number' ? version : undefined
}
