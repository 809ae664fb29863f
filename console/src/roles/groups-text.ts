import { ROLES, type Role } from '../session/roles.ts'

export interface GroupRole {
  readonly group: string
  readonly role: Role
}

/** The groups as lines of a field: `live-ops: support`. */
export const textOfGroups = (groups: readonly GroupRole[]): string =>
  groups.map(({ group, role }) => `${group}: ${role.toLowerCase()}`).join('\n')

/** The groups of such lines, or what is wrong with the first line that cannot be read. */
export function readGroups(text: string): readonly GroupRole[] | string {
  const groups: GroupRole[] = []
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    // A group can be an address or a name with colons.
    const [, group = '', name = ''] = /^(.*):([^:]*)$/.exec(line) ?? []
    const role = ROLES.find((one) => one === name.trim().toUpperCase())
    if (group.trim() === '') return `“${line.trim()}” names no group. Write lines such as live-ops: support.`
    if (role === undefined)
      return `“${line.trim()}” names no role. The roles are ${ROLES.map((one) => one.toLowerCase()).join(', ')}.`
    groups.push({ group: group.trim(), role })
  }
  return groups.length === 0 ? 'Name at least one group: people without a role cannot sign in.' : groups
}
