// dsl/language/space_size.cpp: counting the points of a space without listing them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "dsl/language/space_index.h"

namespace tilewright::dsl {
namespace {

/// Beyond these the result is an upper bound: the cost is their product.
constexpr std::size_t kMaxScattered = 10;
constexpr double kMaxVariantChoices = 1024;

using Sequence = std::vector<SpaceNode>;

/// A hole that stands in one sequence (and perhaps deeper inside it) counts there, once. One that stands in several
/// sequences, none around the others, is scattered. It contributes n where any of them is taken and 1 elsewhere, that
/// is n - (n - 1) * [none is taken]; so the sum over all structures becomes a signed sum over sets of scattered holes
/// whose sequences are forbidden, and each term is a plain product.
class Counter {
  public:
    explicit Counter(const SpaceIndex& index) : index_(index) {
        places(index.top(), {});
        for (const auto& [hole, stands] : places_)
            place(hole, stands);
    }

    double run() {
        Answers answers = index_.open_answers();
        double variants = 1;
        for (int number = 0; number < index_.variant_count(); ++number)
            variants *= index_.options(number);
        const long double total =
            variants > kMaxVariantChoices ? variants * structures(answers) : over_variants(answers, 0);
        return std::isfinite(static_cast<double>(total)) ? static_cast<double>(total)
                                                         : std::numeric_limits<double>::infinity();
    }

  private:
    using Path = std::vector<const Sequence*>;

    void places(const Sequence& sequence, Path path) {
        path.push_back(&sequence);
        for (const SpaceNode& node : sequence) {
            if (node.statement->kind == Statement::Kind::directives) {
                for (const int hole : node.holes)
                    places_[hole].push_back(path);
            }
            for (const Sequence& branch : node.branches)
                places(branch, path);
        }
    }

    void place(int hole, const std::vector<Path>& stands) {
        std::set<const Sequence*> own;
        for (const Path& path : stands)
            own.insert(path.back());
        std::set<const Sequence*> outermost;
        for (const Path& path : stands) {
            const bool inside = std::any_of(path.begin(), path.end() - 1,
                                            [&](const Sequence* around) { return own.count(around) > 0; });
            if (!inside) outermost.insert(path.back());
        }
        const bool scattered = outermost.size() > 1 && scattered_.size() < kMaxScattered;
        if (scattered) scattered_.push_back(hole);
        for (const Sequence* sequence : outermost)
            (scattered ? scattered_in_ : counted_in_)[sequence].push_back(hole);
    }

    long double over_variants(Answers& answers, int number) {
        if (number == index_.variant_count()) return structures(answers);
        long double total = 0;
        for (int option = 0; option < index_.options(number); ++option) {
            answers[number] = option;
            total += over_variants(answers, number + 1);
        }
        return total;
    }

    long double structures(const Answers& answers) {
        long double total = 0;
        for (unsigned set = 0; set < 1U << scattered_.size(); ++set) {
            forbidden_.clear();
            long double weight = 1;
            for (std::size_t i = 0; i < scattered_.size(); ++i) {
                const long double options = index_.options(scattered_[i]);
                const bool forbid = (set >> i & 1U) != 0;
                if (forbid) forbidden_.insert(scattered_[i]);
                weight *= forbid ? 1 - options : options;
            }
            if (weight != 0) total += weight * count(index_.top(), answers);
        }
        return total;
    }

    long double count(const Sequence& sequence, const Answers& answers) const {
        if (const auto found = scattered_in_.find(&sequence); found != scattered_in_.end()) {
            for (const int hole : found->second) {
                if (forbidden_.count(hole) > 0) return 0;
            }
        }
        long double total = 1;
        if (const auto found = counted_in_.find(&sequence); found != counted_in_.end()) {
            for (const int hole : found->second)
                total *= index_.options(hole);
        }
        for (const SpaceNode& node : sequence) {
            if (node.statement->kind == Statement::Kind::choose) {
                long double branches = 0;
                for (const Sequence& branch : node.branches)
                    branches += count(branch, answers);
                total *= branches;
            } else if (node.statement->kind == Statement::Kind::when) {
                // Variants too many to list are left open, and the body counts.
                if (index_.holds(node.statement->condition, answers).value_or(true)) {
                    total *= count(node.branches.front(), answers);
                }
            }
        }
        return total;
    }

    const SpaceIndex& index_;
    std::map<int, std::vector<Path>> places_;
    std::vector<int> scattered_;
    std::map<const Sequence*, std::vector<int>> scattered_in_;
    std::map<const Sequence*, std::vector<int>> counted_in_;
    std::set<int> forbidden_;
};

} // namespace

double count_points(const SpaceIndex& index) {
    return Counter(index).run();
}

} // namespace tilewright::dsl
