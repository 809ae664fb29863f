import type { Json } from '../graphql.ts'

/** Settings that the service keeps for the studio. */
export const StoredSettings = ({ name, value }: { name: string; value: Json }) => (
  <details>
    <summary>All settings of {name}</summary>
    <p className="hint">
      Logins use <code>enabled</code> and <code>clientIds</code>. The service keeps the others for the studio, and
      leaves secrets out here. They are set over the API.
    </p>
    <pre>{JSON.stringify(value, null, 2)}</pre>
  </details>
)
