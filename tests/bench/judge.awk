# Medians, spread, ratios and verdicts: the one place that compares.
#
#   awk -f judge.awk rows.tsv samples.tsv     (both as rounds.sh writes them)
#
# Prints a line for each contender of each row:
#   row contender median least most ratio goal verdict state title metric
# The ratio is of medians, to the second contender. The verdict stands at the first: met, missed, or
# behind (within its goal, but another contender than the second is faster), none (not measured), error.

BEGIN { FS = OFS = "\t" }

function sort_values(values, count,    i, j, value) {
	for (i = 2; i <= count; i++) {
		value = values[i]
		for (j = i - 1; j >= 1 && values[j] > value; j--)
			values[j + 1] = values[j]
		values[j + 1] = value
	}
}

function note(row, contender,    i, count, values) {
	count = taken[row, contender]
	for (i = 1; i <= count; i++)
		values[i] = sample[row, contender, i]
	sort_values(values, count)
	least = values[1]
	most = values[count]
	median = count % 2 ? values[(count + 1) / 2] : (values[count / 2] + values[count / 2 + 1]) / 2
}

function judge(row, names, count,    i, fastest) {
	if (state[row] ~ /^not measured/) return "none"
	if (state[row] ~ /^error/) return "error"
	for (i = 1; i <= count; i++) # nothing is not fast
		if (!(middle[names[i]] > 0)) return "error"
	if (middle[names[1]] > goal[row] * middle[names[2]]) return "missed"
	for (i = 3; i <= count; i++)
		if (middle[names[i]] < middle[names[1]]) return "behind"
	return "met"
}

function tell(row,    names, count, i, verdict, ratio) {
	count = split(contenders[row], names, " ")
	for (i = 1; i <= count; i++) {
		note(row, names[i])
		middle[names[i]] = median
		low[i] = least
		high[i] = most
	}
	verdict = judge(row, names, count)
	for (i = 1; i <= count; i++) {
		ratio = middle[names[2]] > 0 ? middle[names[i]] / middle[names[2]] : 0
		printf "%s\t%s\t%.6g\t%.6g\t%.6g\t%.3f\t%s\t%s\t%s\t%s\t%s\n", row, names[i],
			middle[names[i]], low[i], high[i], ratio, i == 1 ? goal[row] : "",
			i == 1 ? verdict : "", state[row], title[row], metric[row]
	}
}

FNR == NR {
	order[++rows] = $1
	goal[$1] = $2; metric[$1] = $3; title[$1] = $4; contenders[$1] = $5; state[$1] = $6
	next
}

{
	column = metric[$1] == "memory" ? 6 : metric[$1] == "names" ? 7 : 4
	sample[$1, $3, ++taken[$1, $3]] = $column + 0
}

END { for (i = 1; i <= rows; i++) tell(order[i]) }
