import { Page } from '../ui/page.tsx'

export default function ProvidersPage() {
  return <Page title="Providers">{null}</Page>
}
